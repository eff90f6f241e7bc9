import { type ChildProcess, spawn } from 'node:child_process';
import { inject, injectable } from 'inversify';
import { Logger } from '../../base/logger.js';
import type { HostIdentity } from '../../kernel/node/node-repository.js';
import { guardScript } from './guard-script.js';

/** How often a guard that somebody has ended is started again. */
const startsMax = 10;

/**
 * Keeps commands from outliving a kernel that dies without a word: a process of its own that is told of them over a pipe,
 * and stops what is left when the pipe closes. It never keeps the program of the host from ending.
 */
@injectable()
export class Guard {
  private shell: ChildProcess | undefined;
  private starts = 0;
  private isClosed = false;
  /** Everything that it has to know, by token. */
  private readonly watched = new Map<string, HostIdentity | undefined>();

  constructor(@inject(Logger) private readonly logger: Logger) {}

  /** Before the command is started. */
  expect(token: string): void {
    this.watched.set(token, undefined);
    this.tell(`token ${token}`);
  }

  /** As soon as it is known what leads its group. */
  watch(token: string, leader: HostIdentity): void {
    this.watched.set(token, leader);
    this.tell(groupLine(token, leader));
  }

  /** There is nothing left of it, or it is not this kernel's any more. */
  done(token: string): void {
    if (this.watched.delete(token)) this.shell?.stdin?.write(`done ${token}\n`);
  }

  /** What it still knows is stopped. */
  close(): void {
    this.isClosed = true;
    this.shell?.stdin?.end();
  }

  private tell(line: string): void {
    if (this.shell === undefined) this.start();
    else this.shell.stdin?.write(`${line}\n`);
  }

  /** A new guard is told everything. */
  private start(): void {
    if (this.isClosed || this.starts === startsMax) return;
    this.starts++;
    const shell = this.spawned();
    if (shell === undefined) return;
    this.shell = shell;
    shell.on('error', (error) => this.ended(shell, error.message));
    shell.on('exit', () => this.ended(shell, 'it has ended'));
    shell.stdin?.on('error', () => undefined);
    shell.unref();
    // A pipe of a child is a socket of this program.
    if (shell.stdin !== null && 'unref' in shell.stdin && typeof shell.stdin.unref === 'function') shell.stdin.unref();
    for (const [token, leader] of this.watched) {
      shell.stdin?.write(`token ${token}\n`);
      if (leader !== undefined) shell.stdin?.write(`${groupLine(token, leader)}\n`);
    }
  }

  /** Without a guard commands are run all the same: a kernel that comes later finds them. */
  private spawned(): ChildProcess | undefined {
    try {
      return spawn('/bin/sh', ['-c', guardScript], {
        cwd: '/',
        detached: true,
        env: { PATH: process.env.PATH ?? '/usr/bin:/bin' },
        stdio: ['pipe', 'ignore', 'ignore'],
      });
    } catch (error) {
      this.logger.error({ error: String(error) }, 'the guard of commands could not be started');
      return undefined;
    }
  }

  private ended(shell: ChildProcess, reason: string): void {
    if (this.shell !== shell) return;
    this.shell = undefined;
    if (this.isClosed) return;
    this.logger.warn({ reason }, 'the guard of commands is gone');
    if (this.watched.size > 0) this.start();
  }
}

function groupLine(token: string, { pid, startTicks }: HostIdentity): string {
  return `group ${token} ${pid} ${startTicks}`;
}
