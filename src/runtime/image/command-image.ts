import type { JsonValue } from '../../base/json.js';
import type { CommandProgram } from './command-program.js';
import type { Image, ImageSpec } from './image.js';

export interface CommandImageSpec<Args = JsonValue>
  extends Pick<ImageSpec, 'name' | 'version' | 'input' | 'requires'>,
    Omit<CommandProgram, 'args'> {
  /** What follows the program, or a function that makes it of the process's arguments. */
  readonly args?: readonly string[] | ((input: Args) => readonly string[]);
}

/**
 * An image whose processes are subprocesses of the operating system. A process that spawns one needs `call` on the command.
 *
 * @example const grep = commandImage({ name: 'grep', command: 'grep', args: ({ text }: { text: string }) => ['-r', text] });
 */
export function commandImage<Args = JsonValue>(spec: CommandImageSpec<Args>): Image {
  const { name, version = '1', input, requires = [], ...command } = { ...spec };
  const named = { name, version, kind: 'command', requires, recovery: 'rerun' } as const;
  return { ...named, ...(input === undefined ? {} : { input }), command };
}
