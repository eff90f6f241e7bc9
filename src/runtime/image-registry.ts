import { injectable } from 'inversify';
import { z } from 'zod';
import { errorText } from '../base/error-text.js';
import { InputError, invalidInput, ProcessError } from '../base/errors.js';
import type { JsonValue } from '../base/json.js';
import { type Token, token } from '../base/token.js';
import { capabilitySpec, parseCapabilitySpec } from '../capability/capability-spec.js';
import type { ImageFacts, Images } from '../kernel/images.js';
import { baseImage, type Image, type StandardSchema } from './image.js';
import { retryPolicy, storedRetry } from './retry.js';

/** The programs that processes of this kernel can run. */
export interface ImageRegistry {
  /** Adds a version of an image. Throws INVALID_INPUT, CONFLICT for a version that is there already. */
  register(image: Image): void;
  /** `name@version` of all that are registered, in order of registration. */
  list(): string[];
}
export const ImageRegistry: Token<ImageRegistry> = token('ImageRegistry');

const word = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$/, 'is not a name: letters, digits, dots, dashes, slashes');
const definition = z.strictObject({
  name: word,
  version: word,
  kind: z.enum(['agent', 'steps', 'command', 'external']),
  input: z.custom<StandardSchema>((value) => isStandardSchema(value), 'is not a Standard Schema').optional(),
  tools: z.array(word).optional(),
  requires: z.array(capabilitySpec),
  recovery: z.enum(['rerun', 'fail']),
  retry: retryPolicy.optional(),
  run: z.custom<Image['run']>((value) => typeof value === 'function', 'is not a function').optional(),
});

@injectable()
export class MemoryImageRegistry implements ImageRegistry, Images {
  private readonly byReference = new Map<string, ImageFacts>();
  private readonly latest = new Map<string, ImageFacts>();
  private readonly bodies = new Map<string, Image>();
  private readonly listeners = new Set<() => void>();

  constructor() {
    this.register(baseImage);
  }

  register(image: Image): void {
    const parsed = parseDefinition(image);
    if (!parsed.success) {
      const issue = parsed.error.issues[0];
      const path = ['image', ...(issue?.path ?? [])].join('.');
      throw invalidInput(path, issue?.message ?? 'not an image', 'Make images with defineImage or externalImage.');
    }
    const { name, version, kind, input, recovery, retry } = parsed.data;
    const reference = `${name}@${version}`;
    if (this.byReference.has(reference)) throw alreadyThere(reference);
    const facts: ImageFacts = {
      name,
      version,
      kind,
      requires: parsed.data.requires.map((spec, index) => parseCapabilitySpec(spec, `image.requires.${index}`)),
      recovery,
      retry: retry === undefined ? null : storedRetry(retry),
      parseArgs: async (args) => (input === undefined ? args : validate(reference, input, args)),
    };
    this.byReference.set(reference, facts);
    this.latest.set(name, facts);
    if (image.run !== undefined) this.bodies.set(reference, image);
    for (const listener of this.listeners) listener();
  }

  /** The image with its body, if this kernel can run it. */
  runnable(reference: string): Image | undefined {
    return this.bodies.get(reference);
  }

  /** All that this kernel can run, as `name@version`. */
  runnables(): string[] {
    return [...this.bodies.keys()];
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

/** An image is a caller's object: it may refuse to be read. */
function parseDefinition(image: unknown): z.ZodSafeParseResult<z.output<typeof definition>> {
  try {
    return definition.safeParse(image);
  } catch (error) {
    const problem = `could not be read: ${errorText(error)}`;
    throw invalidInput('image', problem, 'Make images with defineImage or externalImage.');
  }
}

/** A schema is a caller's code: whatever it throws, and no answer at all, is a refusal of the arguments. */
async function validate(reference: string, schema: StandardSchema, args: JsonValue): Promise<JsonValue> {
  const run = async () => schema['~standard'].validate(args);
  const result = await run().catch((error) => {
    throw badArgs(reference, `the schema failed: ${errorText(error)}`, []);
  });
  if (typeof result !== 'object' || result === null) throw badArgs(reference, 'the schema gave no answer', []);
  if (result.issues === undefined) return result.value as JsonValue;
  const issue = result.issues[0];
  throw badArgs(reference, issue?.message ?? 'not valid', issue?.path ?? []);
}

function badArgs(reference: string, problem: string, path: readonly unknown[]): InputError {
  const at = [
    'spec.args',
    ...path.map((part) => String(typeof part === 'object' && part !== null && 'key' in part ? part.key : part)),
  ];
  return invalidInput(at.join('.'), problem, `See the input schema of image ${reference}.`, { image: reference });
}

function alreadyThere(reference: string): ProcessError {
  return new ProcessError('CONFLICT', `Image ${reference} is registered already.`, {
    facts: { image: reference },
    hint: 'Give the new one another version.',
  });
}

function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null || !('~standard' in value))
    return false;
  const standard = value['~standard'];
  return (
    typeof standard === 'object' &&
    standard !== null &&
    'validate' in standard &&
    typeof standard.validate === 'function'
  );
}
