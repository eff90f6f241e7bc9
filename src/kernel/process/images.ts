import { types } from 'node:util';
import type { JsonObject, JsonValue } from '../../base/json.js';
import { type Token, token } from '../../base/token.js';
import type { Authority } from '../../capability/holding/capability.js';
import type { CommandSpec } from '../command/command.js';
import type { MessageBody } from '../message/message.js';
import type { ProcessKind, RecoveryDisposition } from './process.js';

/** The part of an image that the kernel needs to create a process of it. */
export interface ImageFacts {
  readonly name: string;
  /** `name@version`. */
  readonly reference: string;
  readonly kind: ProcessKind;
  /** Authority that a process of it must hold; it is checked, not granted. */
  readonly requires: readonly Authority[];
  readonly recovery: RecoveryDisposition;
  readonly retry: JsonObject | null;
  /** Whether a stop of a process of it waits for the answer of the worker outside. */
  readonly acknowledgesStop: boolean;
  /** Whether processes of it keep children running that it names. */
  readonly isSupervisor: boolean;
  /** Whether its processes answer messages, and end only when they are told to. */
  readonly isConversation: boolean;
  /** The command that a process of it runs, where it is a program of the operating system. Throws INVALID_INPUT. */
  readonly command?: (args: JsonValue) => CommandSpec;
  /** Validates arguments by the input schema of the image and answers with its output. Throws INVALID_INPUT. */
  parseArgs(args: JsonValue): Promise<JsonValue>;
  /** Validates the result of a process and answers with the output of the schema. Absent: any result fits. Throws INVALID_OUTPUT. */
  readonly parseOutput?: (result: JsonValue | undefined) => Promise<unknown>;
  /** Validates the body of a message and answers with the output of the schema. Absent: any body fits. Throws INVALID_INPUT. */
  readonly parseMessage?: (body: MessageBody) => Promise<unknown>;
  /** By user signal, with the prefix `user.`: as `parseMessage`, for its payload. */
  readonly parseSignal?: ReadonlyMap<string, (payload: JsonValue) => Promise<unknown>>;
}

/** The image of a root that names none. */
export const defaultImage = 'base';

export interface Images {
  /**
   * The reference of an image that a caller gives itself, which is registered unless it is already. Throws INVALID_INPUT for
   * what is no image, CONFLICT where another one has its name and version.
   */
  referenceOf(image: object): string;
  /** Takes `name@version`, or `name` for the version that was registered last. Throws NO_SUCH_IMAGE. */
  resolve(reference: string): ImageFacts;
  /** As `resolve`; undefined for an image that is not registered. */
  find(reference: string): ImageFacts | undefined;
  /** Whether an image of this program has a schema for results. */
  readonly hasOutputSchemas: boolean;
  /** Whether an image of this program has a schema for messages. */
  readonly hasMessageSchemas: boolean;
  /** Whether an image of this program has a schema for that user signal. */
  hasSignalSchema(signal: string): boolean;
}
export const Images: Token<Images> = token('Images');

/** A caller's spec with the reference of its image in place of the image itself. Throws as `Images.referenceOf`. */
export function withImageReference(images: Images, spec: unknown): unknown {
  // Proxies are refused when the spec is parsed, without a call of their traps.
  if (typeof spec !== 'object' || spec === null || types.isProxy(spec)) return spec;
  const member = Object.getOwnPropertyDescriptor(spec, 'image');
  const image: unknown = member?.value;
  if (typeof image !== 'object' || image === null || types.isProxy(image)) return spec;
  const reference = { ...member, value: images.referenceOf(image) };
  return Object.create(Object.getPrototypeOf(spec), { ...Object.getOwnPropertyDescriptors(spec), image: reference });
}

/** The image of commands that processes run without an image of their own. It is not registered and not spawned by name. */
export const anonymousCommandImage: ImageFacts = {
  name: 'command',
  reference: 'command@1',
  kind: 'command',
  requires: [],
  recovery: 'rerun',
  retry: null,
  acknowledgesStop: false,
  isSupervisor: false,
  isConversation: false,
  parseArgs: async (args) => args,
};
