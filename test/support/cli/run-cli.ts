import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';
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

/** Runs the built command until it exits. */
export async function runCli(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<CliRun> {
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
