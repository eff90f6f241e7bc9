import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** A program of test/crash/programs in an OS process of its own. It prints `ready` when it is loaded, and begins with the first line it gets. */
export class Program {
  readonly lines: string[] = [];
  private readonly child: ChildProcess;
  private readonly exited: Promise<void>;
  private errors = '';
  private waiting: (() => void)[] = [];

  /** Its file with its arguments, after options of Node.js. */
  constructor(...args: readonly string[]) {
    this.child = spawn(process.execPath, [...args], { stdio: ['pipe', 'pipe', 'pipe'] });
    const { stdout, stderr } = this.child;
    if (stdout === null || stderr === null) throw new Error('the program has no output');
    const lines = createInterface({ input: stdout });
    lines.on('line', (line) => {
      this.lines.push(line);
      this.changed();
    });
    stderr.on('data', (chunk) => {
      this.errors += String(chunk);
    });
    // A line that was cut off by a kill is delivered when the stream ends.
    this.exited = Promise.all([once(this.child, 'exit'), once(lines, 'close')]).then(() => this.changed());
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  get exitCode(): number | null {
    return this.child.exitCode;
  }

  private changed(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
  }

  /** Waits for a line that `matches`; throws when the program ends without one. */
  async waitForLine(matches: (line: string) => boolean): Promise<string> {
    for (;;) {
      const found = this.lines.find(matches);
      if (found !== undefined) return found;
      if (this.child.exitCode !== null || this.child.signalCode !== null) {
        throw new Error(`the program ended without the line: ${this.errors}`);
      }
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
  }

  send(text: string): void {
    this.child.stdin?.write(`${text}\n`);
  }

  /** Sends it a signal of the operating system. */
  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  /** Kills it with SIGKILL, and waits for its end. */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.exited;
  }

  /** Waits for its end. Answers whether it exited with 0. */
  async waitForEnd(): Promise<boolean> {
    await this.exited;
    return this.child.exitCode === 0;
  }

  /** Waits for its end. Throws with its stderr when it did not exit with 0. */
  async expectSuccess(): Promise<void> {
    await this.exited;
    if (this.child.exitCode !== 0) throw new Error(`the program failed: ${this.errors}`);
  }
}
