import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';
import { vi } from 'vitest';
import { run } from '../../../src/cli/program.js';
import { builtPackage } from '../built-package.js';

export interface CliRun {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts the built command, as a user's shell would. */
export async function startCli(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  stdin: 'ignore' | 'pipe' = 'ignore',
): Promise<ChildProcess> {
  const main = path.join(await builtPackage(), 'dist', 'cli', 'main.js');
  return spawn(process.execPath, [main, ...args], {
    env: { ...process.env, PROCURA_STORE: '', FORCE_COLOR: '', ...env },
    stdio: [stdin, 'pipe', 'pipe'],
  });
}

let last: Promise<unknown> = Promise.resolve();

/**
 * Runs one command line within this program, which takes a fraction of the time that starting the built command does.
 * Calls run one after another: each has standard output, the environment and the exit code for itself.
 */
export function runCli(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<CliRun> {
  const next = last.then(() => runHere(args, env));
  last = next.catch(() => undefined);
  return next;
}

async function runHere(args: readonly string[], env: NodeJS.ProcessEnv): Promise<CliRun> {
  const { exitCode: before } = process;
  const stdout = captured(process.stdout);
  const stderr = captured(process.stderr);
  for (const [name, value] of Object.entries({ PROCURA_STORE: '', ...env })) vi.stubEnv(name, value);
  process.exitCode = undefined;
  try {
    const exitCode = await run(args);
    return { exitCode, stdout: stdout.text(), stderr: stderr.text() };
  } finally {
    process.exitCode = before;
    vi.unstubAllEnvs();
    stdout.release();
    stderr.release();
  }
}

/** Keeps what is written to a stream, and away from it, until it is released. */
function captured(stream: NodeJS.WriteStream): { text(): string; release(): void } {
  const { write } = stream;
  let text = '';
  stream.write = (chunk: string | Uint8Array, ...rest: unknown[]) => {
    text += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
    const done = rest.at(-1);
    if (typeof done === 'function') process.nextTick(done);
    return true;
  };
  return {
    text: () => text,
    release: () => {
      stream.write = write;
    },
  };
}

/** Runs the built command to its end, as a user's shell would. */
export async function runBuiltCli(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<CliRun> {
  const child = await startCli(args, env);
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (chunk) => {
    stdout += String(chunk);
  });
  child.stderr?.on('data', (chunk) => {
    stderr += String(chunk);
  });
  const exitCode = await new Promise<number | null>((resolve) => {
    child.once('close', resolve);
  });
  return { exitCode, stdout, stderr };
}

/** The code that the command was refused with; fails when it was not, or when the lines are not as they should be. */
export function refusedWith({ exitCode, stderr }: CliRun): { exitCode: number | null; code: string } {
  const told = /^error ([A-Z_]+): .+\nhint: .+\n$/.exec(stderr);
  if (told === null) throw new Error(`not an error with a hint: ${JSON.stringify(stderr)}`);
  return { exitCode, code: told[1] ?? '' };
}
