import type { Pid } from '../../base/ids.js';
import type { ImageArgs, ImageOutput } from '../process/typed-image.js';
import type { ChildSpec, ExecSpec, ForkSpec, SpawnSpec } from './process-specs.js';

/** The arguments of an image, which may be left out where the image accepts `{}`. */
type ArgsMember<Image> =
  Record<never, never> extends ImageArgs<Image>
    ? { readonly args?: ImageArgs<Image> }
    : { readonly args: ImageArgs<Image> };

/** A spec whose arguments are those of its image. */
type TypedSpec<Spec, Image> = Omit<Spec, 'image' | 'args'> & { readonly image?: Image } & ArgsMember<Image>;

/** A `SpawnSpec` with the arguments of its image. */
export type SpawnSpecOf<Image> = TypedSpec<SpawnSpec, Image>;
/** A `ChildSpec` with the arguments of its image. */
export type ChildSpecOf<Image> = TypedSpec<ChildSpec, Image>;
/** A `ForkSpec` with the arguments of its image. */
export type ForkSpecOf<Image> = TypedSpec<ForkSpec, Image>;
/** An `ExecSpec` with the arguments of its image. */
export type ExecSpecOf<Image> = TypedSpec<ExecSpec, Image> & { readonly image: Image };

/** The pid of a process of an image: it remembers the type of the result. */
export type PidOf<Image> = Image extends string ? Pid : Pid<ImageOutput<Image>>;

/** The arguments of a call of an image, and what else is to be said about its process. */
export type CallParameters<Image, Spec> =
  Record<never, never> extends ImageArgs<Image>
    ? [args?: ImageArgs<Image>, spec?: Omit<Spec, 'image' | 'args'>]
    : [args: ImageArgs<Image>, spec?: Omit<Spec, 'image' | 'args'>];
