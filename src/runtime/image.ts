import type { JsonValue } from '../base/json.js';
import type { CapabilitySpec } from '../capability/capability.js';
import type { ProcessKind, Recovery } from '../kernel/process.js';
import type { ObjectHandle } from '../memory/object-handle.js';

/** The part of the Standard Schema interface that is used: any zod, valibot or arktype schema has it. */
export interface StandardSchema {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult | Promise<StandardResult>;
  };
}
type StandardResult =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string; readonly path?: readonly unknown[] | undefined }[] };

export interface RetryPolicy {
  /** The total number of tries. */
  readonly attempts: number;
  readonly baseMs?: number;
  readonly factor?: number;
  readonly maxMs?: number;
  readonly jitter?: number;
  /** Whether an error is not worth another try. */
  readonly permanent?: (error: unknown) => boolean;
}

/** What an image's body may return. */
type ImageResult = JsonValue | ObjectHandle | undefined;

/** A named, versioned program. Made by `defineImage` and `externalImage`, used once it is registered. */
export interface Image {
  readonly name: string;
  readonly version: string;
  readonly kind: ProcessKind;
  readonly input?: StandardSchema;
  readonly tools?: readonly string[];
  readonly requires: readonly CapabilitySpec[];
  readonly recovery: Recovery;
  readonly retry?: RetryPolicy;
  readonly run?: ImageBody;
}
type ImageBody = (ctx: never, args: never) => Promise<ImageResult>;

export interface ImageSpec {
  readonly name: string;
  readonly version?: string;
  readonly input?: StandardSchema;
  /** The tools that its processes can see; absent: all. Seeing a tool is not authority to call it. */
  readonly tools?: readonly string[];
  /** What a process of it must hold; grants nothing. */
  readonly requires?: readonly CapabilitySpec[];
  readonly recovery?: Recovery;
  readonly retry?: RetryPolicy;
  readonly run: ImageBody;
}

/**
 * An image with a function body.
 *
 * @example const summarizer = defineImage({ name: 'summarizer', run: async (ctx, args) => … });
 */
export function defineImage(spec: ImageSpec): Image {
  return { version: '1', requires: [], recovery: 'rerun', ...spec, kind: 'agent' };
}

/** An image without a body: its processes run elsewhere and are completed through the API. */
export function externalImage(spec: Pick<ImageSpec, 'name' | 'version' | 'input' | 'requires'>): Image {
  return { version: '1', requires: [], recovery: 'rerun', ...spec, kind: 'external' };
}

/** The default image: lives until somebody ends it. */
export const baseImage: Image = externalImage({ name: 'base' });
