import type { JsonValue } from '../../base/json.js';
import type { CapabilitySpec } from '../../capability/holding/capability.js';
import type { ProcessKind, RecoveryDisposition } from '../../kernel/process/process.js';
import type { ObjectHandle } from '../../memory/object/object-handle.js';
import type { Syscalls } from '../run/body-context.js';
import type { RetryPolicy } from '../step/retry.js';
import type { StepSpec } from '../step/step-list.js';
import type { Supervision } from '../supervision/supervision.js';
import type { CommandProgram } from './command-program.js';
import type { Schema } from './schema.js';

/** What a process may have as its result. */
export type ImageResult = JsonValue | ObjectHandle | undefined;

/** What an image's body may return. */
type BodyReturn = ImageResult | Promise<ImageResult> | Promise<void>;

/** A named, versioned program, used once it is registered. It has at most one of `run`, `steps`, `supervision` and `command`. */
export interface Image {
  readonly name: string;
  readonly version: string;
  readonly kind: ProcessKind;
  readonly input?: Schema;
  readonly tools?: readonly string[];
  readonly requires: readonly CapabilitySpec[];
  readonly recovery: RecoveryDisposition;
  readonly retry?: RetryPolicy;
  readonly run?: ImageBody;
  readonly steps?: readonly StepSpec[];
  readonly supervision?: Supervision;
  readonly command?: CommandProgram;
}
/** Its arguments are what its input schema gives back. */
type ImageBody = (ctx: Syscalls, args: never) => BodyReturn;

export interface ImageSpec<Args = JsonValue> {
  readonly name: string;
  readonly version?: string;
  readonly input?: Schema;
  /** The tools that its processes can see; absent: all. Seeing a tool is not authority to call it. */
  readonly tools?: readonly string[];
  /** What a process of it must hold; grants nothing. */
  readonly requires?: readonly CapabilitySpec[];
  readonly recovery?: RecoveryDisposition;
  readonly retry?: RetryPolicy;
  readonly run: (ctx: Syscalls, args: Args) => BodyReturn;
}

/**
 * An image with a function body.
 *
 * @example const summarizer = defineImage({ name: 'summarizer', run: async (ctx, args) => … });
 */
export function defineImage<Args = JsonValue>(spec: ImageSpec<Args>): Image {
  return { version: '1', requires: [], recovery: 'rerun', ...spec, kind: 'agent' };
}

/** An image without a body: its processes run elsewhere and are completed through the API. */
export function externalImage(spec: Pick<ImageSpec, 'name' | 'version' | 'input' | 'requires'>): Image {
  return { version: '1', requires: [], recovery: 'rerun', ...spec, kind: 'external' };
}

/** The default image: lives until somebody ends it. */
export const baseImage: Image = externalImage({ name: 'base' });
