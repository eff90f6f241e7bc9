import { injectable } from 'inversify';
import { ProcessError } from '../../base/errors.js';
import type { JsonValue } from '../../base/json.js';
import { Listeners } from '../../base/listeners.js';
import { type Token, token } from '../../base/token.js';
import { parseCapabilitySpec } from '../../capability/holding/capability-spec.js';
import { anonymousCommandImage, type ImageFacts, type Images, imageReference } from '../../kernel/process/images.js';
import { storedRetry } from '../step/retry.js';
import { commandSpecOf } from './command-program.js';
import { baseImage, type Image } from './image.js';
import { type ParsedImage, parseImage } from './image-definition.js';
import { type SchemaOwner, validated } from './validated.js';

/** The programs that processes of this kernel can run. */
export interface ImageRegistry {
  /** Adds a version of an image. Throws INVALID_INPUT, CONFLICT for a version that is there already. */
  register(image: Image): void;
  /** `name@version` of all that are registered, in order of registration. */
  list(): string[];
}
export const ImageRegistry: Token<ImageRegistry> = token('ImageRegistry');

@injectable()
export class MemoryImageRegistry implements ImageRegistry, Images {
  private readonly byReference = new Map<string, ImageFacts>();
  private readonly latest = new Map<string, ImageFacts>();
  private readonly bodies = new Map<string, ParsedImage>();
  private readonly toolTables = new Map<string, readonly string[]>();
  private readonly listeners = new Listeners();

  constructor() {
    this.register(baseImage);
  }

  register(image: Image): void {
    const parsed = parseImage(image);
    const { name, version, kind, input, recovery, retry, command } = parsed;
    const reference = `${name}@${version}`;
    if (this.byReference.has(reference) || reference === imageReference(anonymousCommandImage))
      throw alreadyThere(reference);
    const facts: ImageFacts = {
      name,
      version,
      kind,
      requires: parsed.requires.map((spec, index) => parseCapabilitySpec(spec, `image.requires.${index}`)),
      recovery,
      retry: retry === undefined ? null : storedRetry(retry),
      ...(command === undefined ? {} : { command: (args) => commandSpecOf(command, args) }),
      parseArgs: async (args) =>
        input === undefined ? args : ((await validated(input, args, ownerOf(reference))) as JsonValue),
    };
    this.byReference.set(reference, facts);
    this.latest.set(name, facts);
    if (parsed.tools !== undefined) this.toolTables.set(reference, parsed.tools);
    if ((parsed.run ?? parsed.steps ?? parsed.supervision) !== undefined) this.bodies.set(reference, parsed);
    this.listeners.notify();
  }

  /** The image with its body, if this kernel can run it. */
  runnable(reference: string): ParsedImage | undefined {
    return this.bodies.get(reference);
  }

  /** All that this kernel can run, as `name@version`. */
  runnables(): string[] {
    return [...this.bodies.keys()];
  }

  /** The tools that processes of an image can see, as names and `NAME/**`; undefined: all. */
  toolsOf(reference: string): readonly string[] | undefined {
    return this.toolTables.get(reference);
  }

  /** All that are programs of the operating system, as `name@version`. */
  commands(): string[] {
    return [...this.byReference].flatMap(([reference, { command }]) => (command === undefined ? [] : [reference]));
  }

  /** Calls `listener` when there is another image. */
  onRegister(listener: () => void): void {
    this.listeners.add(listener);
  }

  list(): string[] {
    return [...this.byReference.keys()];
  }

  resolve(reference: string): ImageFacts {
    const found = this.byReference.get(reference) ?? this.latest.get(reference);
    if (found !== undefined) return found;
    throw new ProcessError('NO_SUCH_IMAGE', `There is no image ${JSON.stringify(reference)}.`, {
      facts: { image: reference, known: this.list().slice(0, 50) },
      hint: 'Register it with kernel.images.register, or in createKernel({ images }).',
    });
  }
}

function ownerOf(reference: string): SchemaOwner {
  return { path: 'spec.args', hint: `See the input schema of image ${reference}.`, facts: { image: reference } };
}

function alreadyThere(reference: string): ProcessError {
  return new ProcessError('CONFLICT', `Image ${reference} is registered already.`, {
    facts: { image: reference },
    hint: 'Give the new one another version.',
  });
}
