import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, realpathSync } from 'node:fs';

/** Everything that it takes to start a program; kept in memory only. */
export interface Launch {
  /** The file to be executed; absent where there is none. */
  readonly file?: string;
  readonly argv: readonly string[];
  /** Absolute. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin?: string;
  /** Input and output are pipes, for whoever talks to the program. */
  readonly isPiped?: boolean;
}

/** Why a program could not be started. */
export interface LaunchFailure {
  readonly errno: string;
  readonly message: string;
}

/** Starts the program in a group and a session of its own, with files for what it writes, which are closed here. */
export async function startProgram(
  launch: Launch,
  open: () => { readonly out: number; readonly err: number },
): Promise<ChildProcess | LaunchFailure> {
  const { file, argv, cwd, env, stdin, isPiped = false } = launch;
  const [argv0 = '', ...args] = argv;
  let files: ReturnType<typeof open> | undefined;
  try {
    if (file === undefined) return { errno: 'ENOENT', message: `There is no program ${JSON.stringify(argv0)}.` };
    // A link in its place would lead elsewhere than where the right was asked for.
    if (realpathSync.native(cwd) !== cwd)
      return { errno: 'ENOTDIR', message: 'Its working directory has been replaced.' };
    files = open();
    const child = spawn(file, args, {
      argv0,
      cwd,
      env,
      detached: true,
      stdio: [isPiped || stdin !== undefined ? 'pipe' : 'ignore', isPiped ? 'pipe' : files.out, files.err],
    });
    if (child.pid === undefined) return failureOf((await once(child, 'error'))[0]);
    child.on('error', () => undefined);
    // One that does not read its input is free to.
    child.stdin?.on('error', () => undefined);
    if (stdin !== undefined) child.stdin?.end(stdin);
    return child;
  } catch (error) {
    return failureOf(error);
  } finally {
    for (const descriptor of Object.values(files ?? {})) closeSync(descriptor);
  }
}

function failureOf(error: unknown): LaunchFailure {
  const { code = 'UNKNOWN', message } = error as NodeJS.ErrnoException;
  // The message may repeat arguments, which are not to be stored.
  return { errno: code, message: code === 'UNKNOWN' ? message.slice(0, 200) : `It could not be started: ${code}.` };
}
