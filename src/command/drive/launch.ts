import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, realpathSync } from 'node:fs';
import type { Environment } from '../../kernel/command/command.js';
import type { CommandDescriptors } from '../output/output-files.js';
import type { PlannedCommand } from '../plan/planned-command.js';

/** Everything that is needed to start a program; never stored. */
export interface Launch {
  /** The file to be executed; absent where there is none. */
  readonly file?: string;
  readonly argv: readonly string[];
  /** Absolute. */
  readonly cwd: string;
  /** All variables but the token; references to secrets are resolved at the start. */
  readonly variables: Environment;
  readonly stdin?: string;
  /** Input, output and error are pipes. */
  readonly isPiped?: boolean;
}

/** The launch of a command as it was decided on. `cwd` is the real path of its folder. */
export function launchOf({ spec: { argv, stdin }, file, variables }: PlannedCommand, cwd: string): Launch {
  return {
    argv,
    cwd,
    variables,
    ...(file === undefined ? {} : { file }),
    ...(stdin === undefined ? {} : { stdin }),
  };
}

/** Why a program could not be started. */
export interface LaunchFailure {
  readonly errno: string;
  readonly message: string;
}

/** Starts the program in a process group and session of its own. `open` gives the files for its output, which are closed here. */
export async function startProgram(
  launch: Omit<Launch, 'variables'>,
  env: Readonly<Record<string, string>>,
  open: () => CommandDescriptors,
): Promise<ChildProcess | LaunchFailure> {
  const { file, argv, cwd, stdin, isPiped = false } = launch;
  const [argv0 = '', ...args] = argv;
  let files: CommandDescriptors | undefined;
  try {
    if (file === undefined) return { errno: 'ENOENT', message: `There is no program ${JSON.stringify(argv0)}.` };
    // The folder that was authorized may have been replaced by a link to another one.
    if (realpathSync.native(cwd) !== cwd)
      return { errno: 'ENOTDIR', message: 'Its working directory has been replaced.' };
    files = open();
    const child = spawn(file, args, {
      argv0,
      cwd,
      env,
      detached: true,
      stdio: [
        isPiped || stdin !== undefined ? 'pipe' : 'ignore',
        isPiped ? 'pipe' : files.out,
        isPiped ? 'pipe' : files.err,
        ...tetherStdio(files.tether),
      ],
    });
    if (child.pid === undefined) return failureOf((await once(child, 'error'))[0]);
    child.on('error', () => undefined);
    // A program need not read its input.
    child.stdin?.on('error', () => undefined);
    if (stdin !== undefined) child.stdin?.end(stdin);
    return child;
  } catch (error) {
    return failureOf(error);
  } finally {
    if (files !== undefined) for (const descriptor of [files.out, files.err, files.tether]) closeSync(descriptor);
  }
}

/**
 * The entries from descriptor 3 on. The tether has the same number in the program as here: a number that is free here may be
 * the one by which the program reports that it could not be started.
 */
function tetherStdio(tether: number): ('ignore' | number)[] {
  return [...Array.from({ length: tether - 3 }, () => 'ignore' as const), tether];
}

function failureOf(error: unknown): LaunchFailure {
  const { code = 'UNKNOWN', message } = error as NodeJS.ErrnoException;
  // The message of the system may contain arguments, which must not be stored.
  return { errno: code, message: code === 'UNKNOWN' ? message.slice(0, 200) : `It could not be started: ${code}.` };
}
