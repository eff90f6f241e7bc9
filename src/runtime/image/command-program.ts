import { z } from 'zod';
import { errorText, invalidInput, KernelError } from '../../base/errors.js';
import type { JsonValue } from '../../base/json.js';
import type { CommandSpec } from '../../kernel/command/command.js';

/** The program of an image whose processes are subprocesses of the operating system. */
export interface CommandProgram extends Omit<CommandSpec, 'argv' | 'cwd' | 'background' | 'owner'> {
  /** A bare name is looked up on the kernel's PATH; one with a slash is a file as seen from the workspace. */
  readonly command: string;
  /** The arguments of the program, or a function that makes them from the arguments of the process. */
  readonly args?: readonly string[] | ((input: never) => readonly string[]);
  /** Relative to the workspace; default: the working directory of the process. */
  readonly cwd?: string;
}

/** Only the parts that make `argv` are checked here; the rest is checked with the command of each process. */
export const commandProgram = z.looseObject({
  command: z.string().min(1),
  args: z.union([z.array(z.string()), z.custom((value) => typeof value === 'function')]).optional(),
});

/** The command of a process with the arguments `input`. Throws INVALID_INPUT when the function in `args` throws. */
export function commandSpecOf({ command, args = [], ...program }: CommandProgram, input: JsonValue): CommandSpec {
  try {
    const rest = typeof args === 'function' ? args(input as never) : args;
    return { ...program, argv: [command, ...rest] };
  } catch (error) {
    if (error instanceof KernelError) throw error;
    throw invalidInput('image.args', `failed: ${errorText(error)}`, 'Make it give an array of texts.');
  }
}
