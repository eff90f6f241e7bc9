import { injectable } from 'inversify';
import { InputError, ProcessError } from '../../base/errors.js';
import type { JsonValue } from '../../base/json.js';
import { Listeners } from '../../base/listeners.js';
import { type ValidationContext, validate } from '../../base/schema/schema.js';
import type { StandardSchema } from '../../base/schema/schema-types.js';
import { type Token, token } from '../../base/token.js';
import { parseCapabilitySpecs } from '../../capability/holding/capability-spec.js';
import { anonymousCommandImage, type ImageFacts, type Images } from '../../kernel/process/images.js';
import { toStoredRetry } from '../step/retry.js';
import { commandSpecOf } from './command-program.js';
import { baseImage, type Image } from './image.js';
import { type ParsedImage, parseImage } from './image-definition.js';

/** The images of this kernel: the programs of its processes. */
export interface ImageRegistry {
  /** Adds a version of an image. Throws INVALID_INPUT, CONFLICT for a version that is there already. */
  register(image: Image): void;
  /** The registered images as `name@version`, in the order of registration. */
  list(): string[];
}
export const ImageRegistry: Token<ImageRegistry> = token('ImageRegistry');

@injectable()
export class MemoryImageRegistry implements ImageRegistry, Images {
  private readonly byReference = new Map<string, ImageFacts>();
  /** The objects that were registered. */
  private readonly originals = new Map<string, object>();
  private readonly latest = new Map<string, ImageFacts>();
  private readonly runnableImages = new Map<string, ParsedImage>();
  private readonly programs = new Map<string, ParsedImage>();
  private readonly toolTables = new Map<string, readonly string[]>();
  private readonly signalsWithSchema = new Set<string>();
  private readonly listeners = new Listeners();
  hasOutputSchemas = false;
  hasMessageSchemas = false;

  constructor() {
    this.register(baseImage);
  }

  register(image: Image): void {
    this.add(image, parseImage(image));
  }

  referenceOf(image: object): string {
    const parsed = parseImage(image);
    const reference = `${parsed.name}@${parsed.version}`;
    if (this.originals.get(reference) !== image) this.add(image, parsed);
    return reference;
  }

  private add(image: object, parsed: ParsedImage): void {
    const { name, version, kind, input, output, recovery, retry, command } = parsed;
    const reference = `${name}@${version}`;
    if (this.byReference.has(reference) || reference === anonymousCommandImage.reference)
      throw alreadyRegistered(reference);
    const facts: ImageFacts = {
      name,
      reference,
      kind,
      requires: parsed.requires.flatMap((spec, index) => parseCapabilitySpecs(spec, `image.requires.${index}`)),
      recovery,
      retry: retry === undefined ? null : toStoredRetry(retry),
      acknowledgesStop: parsed.acknowledge === true,
      isSupervisor: parsed.supervision !== undefined,
      isConversation: parsed.conversation === true,
      ...(command === undefined ? {} : { command: (args) => commandSpecOf(command, args) }),
      parseArgs: async (args) =>
        input === undefined ? args : ((await validate(input, args, argsContext(reference))) as JsonValue),
      ...(output === undefined ? {} : { parseOutput: (result) => validateOutput(output, result, reference) }),
      ...inboxParsersOf(parsed, reference),
    };
    if (output !== undefined) this.hasOutputSchemas = true;
    if (parsed.messages !== undefined) this.hasMessageSchemas = true;
    for (const signal of parsed.signals?.keys() ?? []) this.signalsWithSchema.add(signal);
    this.byReference.set(reference, facts);
    this.originals.set(reference, image);
    this.latest.set(name, facts);
    if (parsed.tools !== undefined) this.toolTables.set(reference, parsed.tools);
    if (kind !== 'external') this.programs.set(reference, parsed);
    if ((parsed.run ?? parsed.steps ?? parsed.supervision) !== undefined) this.runnableImages.set(reference, parsed);
    this.listeners.notify();
  }

  /** The image, if it has a body that this kernel can run. */
  findRunnable(reference: string): ParsedImage | undefined {
    return this.runnableImages.get(reference);
  }

  /** The images whose processes a node runs or drives, by `name@version`. */
  listPrograms(): [reference: string, image: ParsedImage][] {
    return [...this.programs];
  }

  /** The tools that processes of an image can see, as names and `NAME/**`; undefined: all. */
  toolsOf(reference: string): readonly string[] | undefined {
    return this.toolTables.get(reference);
  }

  /** The images that are programs of the operating system, as `name@version`. */
  listCommands(): string[] {
    return [...this.byReference].flatMap(([reference, { command }]) => (command === undefined ? [] : [reference]));
  }

  /** Calls `listener` after each registration. */
  onRegister(listener: () => void): Disposable {
    return this.listeners.add(listener);
  }

  list(): string[] {
    return [...this.byReference.keys()];
  }

  find(reference: string): ImageFacts | undefined {
    return this.byReference.get(reference) ?? this.latest.get(reference);
  }

  hasSignalSchema(signal: string): boolean {
    return this.signalsWithSchema.has(signal);
  }

  resolve(reference: string): ImageFacts {
    const found = this.find(reference);
    if (found !== undefined) return found;
    throw new ProcessError('NO_SUCH_IMAGE', `There is no image ${JSON.stringify(reference)}.`, {
      facts: { image: reference, known: this.list().slice(0, 50) },
      hint: 'Register it with kernel.images.register, or in createKernel({ images }).',
    });
  }
}

function argsContext(reference: string): ValidationContext {
  return { path: 'spec.args', hint: `See the input schema of image ${reference}.`, facts: { image: reference } };
}

/** The output of the schema for a result. Throws INVALID_OUTPUT. */
async function validateOutput(schema: StandardSchema, result: unknown, image: string): Promise<unknown> {
  const hint = `Return what the output schema of image ${image} describes.`;
  return validate(schema, result, { path: 'result', hint, facts: { image } }).catch((error: unknown) => {
    if (!(error instanceof InputError)) throw error;
    const message = `The result of image ${image} does not fit its output schema: ${error.message}`;
    throw new ProcessError('INVALID_OUTPUT', message, { facts: error.facts, hint });
  });
}

/** The checks of what is sent to processes of the image. */
function inboxParsersOf(
  { messages, signals }: ParsedImage,
  reference: string,
): Pick<ImageFacts, 'parseMessage' | 'parseSignal'> {
  const facts = { image: reference };
  const parseMessage =
    messages === undefined
      ? {}
      : {
          parseMessage: (body: unknown) =>
            validate(messages, body, {
              path: 'message',
              hint: `See the schema of messages of image ${reference}.`,
              facts,
            }),
        };
  if (signals === undefined) return parseMessage;
  const parsers = [...signals].map(([signal, schema]) => {
    const hint = `See the schema of ${signal} of image ${reference}.`;
    const context = { path: 'options.payload', hint, facts: { ...facts, signal } };
    return [signal, (payload: unknown) => validate(schema, payload, context)] as const;
  });
  return { ...parseMessage, parseSignal: new Map(parsers) };
}

function alreadyRegistered(reference: string): ProcessError {
  return new ProcessError('CONFLICT', `Image ${reference} is registered already.`, {
    facts: { image: reference },
    hint: 'Give the new one another version.',
  });
}
