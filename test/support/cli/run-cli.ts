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
let standardOutput: () => string = () => '';

/** What the command that runs inside the test process has printed so far. */
export function printedSoFar(): string {
  return standardOutput();
}

/**
 * Runs one command line inside the test process, which is much faster than starting the built command. Calls run one
 * after another, because each replaces standard output, the environment and the exit code while it runs.
 */
export function runCli(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<CliRun> {
  const next = last.then(() => runInProcess(args, env));
  last = next.catch(() => undefined);
  return next;
}

async function runInProcess(args: readonly string[], env: NodeJS.ProcessEnv): Promise<CliRun> {
  const { exitCode: before } = process;
  const stdout = captureWrites(process.stdout);
  const stderr = captureWrites(process.stderr);
  standardOutput = stdout.text;
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

/** Collects the text written to a stream, instead of writing it, until `release` is called. */
function captureWrites(stream: NodeJS.WriteStream): { text(): string; release(): void } {
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

/** Runs the built command until it exits. */
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

/** The exit code and error code of a failed run. Throws when its stderr is not an error line with a hint line. */
export function refusalOf({ exitCode, stderr }: CliRun): { exitCode: number | null; code: string } {
  const match = /^error ([A-Z_]+): .+\nhint: .+\n$/.exec(stderr);
  if (match === null) throw new Error(`not an error with a hint: ${JSON.stringify(stderr)}`);
  return { exitCode, code: match[1] ?? '' };
}
