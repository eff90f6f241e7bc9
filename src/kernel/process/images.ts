import type { JsonObject, JsonValue } from '../../base/json.js';
import { type Token, token } from '../../base/token.js';
import type { Authority } from '../../capability/holding/capability.js';
import type { CommandSpec } from '../command/command.js';
import type { ProcessKind, RecoveryDisposition } from './process.js';

/** What the kernel has to know of an image to make a process of it. */
export interface ImageFacts {
  readonly name: string;
  readonly version: string;
  readonly kind: ProcessKind;
  /** What a process of it must hold; grants nothing. */
  readonly requires: readonly Authority[];
  readonly recovery: RecoveryDisposition;
  readonly retry: JsonObject | null;
  /** What a process of it runs, where it is a program of the operating system. Throws INVALID_INPUT. */
  readonly command?: (args: JsonValue) => CommandSpec;
  /** The arguments as the image's input schema gives them back. Throws INVALID_INPUT. */
  parseArgs(args: JsonValue): Promise<JsonValue>;
}

export interface Images {
  /** `name` is its last registered version. Throws NO_SUCH_IMAGE. */
  resolve(reference: string): ImageFacts;
}
export const Images: Token<Images> = token('Images');

export function imageReference(image: ImageFacts): string {
  return `${image.name}@${image.version}`;
}

/** What the commands are that processes run. Nobody registers or spawns it by name. */
export const anonymousCommandImage: ImageFacts = {
  name: 'command',
  version: '1',
  kind: 'command',
  requires: [],
  recovery: 'rerun',
  retry: null,
  parseArgs: async (args) => args,
};
