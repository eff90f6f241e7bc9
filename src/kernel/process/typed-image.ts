import type { JsonValue } from '../../base/json.js';
import type { KnownType } from '../../base/schema/schema-types.js';
import type { ObjectHandle } from '../../memory/object/object.js';

/**
 * The name of a program and the types of its processes: every image is one. `Input` is what its body gets, `Output` the result
 * of a process, `Args` what a spawn gives, which differs from `Input` where the input schema has defaults or transforms.
 */
export interface TypedImage<Input = unknown, Output = unknown, Args = Input> {
  readonly name: string;
  readonly version: string;
  /** Carries the types; never present at run time. */
  readonly '~types'?: { readonly input: Input; readonly output: Output; readonly args: Args };
}

/** An image, or the name of one as `name` or `name@version`: then arguments and result are not typed. */
export type ImageReference = string | TypedImage;

/** The type of the results of the processes of an image. */
export type ImageOutput<Image> =
  Image extends TypedImage<infer _Input, infer Output, infer _Args> ? ValueOf<Output> : JsonValue;

/** The type of the arguments that a spawn gives to processes of an image. */
export type ImageArgs<Image> =
  Image extends TypedImage<infer _Input, infer _Output, infer Args> ? KnownType<Args> : JsonValue;

/** A body that returns a handle has the value of that object as its result. */
type ValueOf<Output> = unknown extends Output ? JsonValue : Output extends ObjectHandle ? JsonValue : Output;
