import { z } from 'zod';
import { errorText, invalidInput, KernelError } from '../../base/errors.js';
import type { JsonValue } from '../../base/json.js';
import type { CommandSpec } from '../../kernel/command/command.js';

/** A program of the operating system as an image. */
export interface CommandProgram extends Omit<CommandSpec, 'argv' | 'cwd' | 'background' | 'owner'> {
  /** A bare name is looked up on the kernel's PATH; one with a slash is a file as seen from the workspace. */
  readonly command: string;
  /** What follows it, or a function that makes it of the process's arguments. */
  readonly args?: readonly string[] | ((input: never) => readonly string[]);
  /** Relative to the workspace; default: the working directory of the process. */
  readonly cwd?: string;
}

/** The rest of a program is looked at together with what it makes of arguments: a function can make anything. */
export const commandProgram = z.looseObject({
  command: z.string().min(1),
  args: z.union([z.array(z.string()), z.custom((value) => typeof value === 'function')]).optional(),
});

/** What a process with these arguments runs. A function is a caller's code: whatever it throws is a refusal. */
export function commandSpecOf({ command, args = [], ...program }: CommandProgram, input: JsonValue): CommandSpec {
  try {
    const rest = typeof args === 'function' ? args(input as never) : args;
    return { ...program, argv: [command, ...rest] };
  } catch (error) {
    if (error instanceof KernelError) throw error;
    throw invalidInput('image.args', `failed: ${errorText(error)}`, 'Make it give an array of texts.');
  }
}
