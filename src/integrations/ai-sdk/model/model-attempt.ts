import type { ModelAnswer, ModelCall, ModelPart, SourceModel } from './model-call.js';
import { PartCollector } from './part-collector.js';

/** Gets the parts of an answer as they come. */
export interface PartListener {
  /** Whether parts of an attempt have been passed on to somebody who cannot take them back. */
  readonly isFinal: boolean;
  /** An attempt begins. */
  begin(): void;
  onPart(part: ModelPart): void;
}

/** Models that do not stream. They are found out by trying, once each. */
const withoutStreams = new WeakSet<object>();

/** Asks a model once: as a stream where somebody listens and the model can, at once otherwise. */
export async function askOnce(
  model: SourceModel,
  source: object,
  call: ModelCall,
  listener: PartListener | undefined,
): Promise<ModelAnswer> {
  if (listener !== undefined && !withoutStreams.has(source)) {
    const answer = await askAsStream(model, call, listener);
    if (answer !== undefined) return answer;
    withoutStreams.add(source);
  }
  return model.doGenerate(call);
}

/** Undefined where the model does not stream. */
async function askAsStream(
  model: SourceModel,
  call: ModelCall,
  listener: PartListener,
): Promise<ModelAnswer | undefined> {
  const stream = await openStream(model, call);
  if (stream === undefined) return undefined;
  const collector = new PartCollector();
  try {
    for await (const part of partsOf(stream)) {
      collector.add(part);
      listener.onPart(part);
    }
  } catch (error) {
    if (collector.isEmpty && isNoStream(error)) return undefined;
    throw error;
  }
  if (collector.isEmpty) return undefined;
  if (!collector.isFinished) throw cutOff();
  return collector.answer();
}

async function openStream(model: SourceModel, call: ModelCall): Promise<ReadableStream<ModelPart> | undefined> {
  if (typeof model.doStream !== 'function') return undefined;
  try {
    return (await model.doStream(call)).stream;
  } catch (error) {
    if (isUnsupported(error)) return undefined;
    throw error;
  }
}

/** Reads to the end, and gives the stream up where the reader stops. */
async function* partsOf(stream: ReadableStream<ModelPart>): AsyncGenerator<ModelPart> {
  const reader = stream.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** The error of the SDK for what a model cannot do, and that of its mock models. */
function isUnsupported(error: unknown): boolean {
  const { name, message } = error instanceof Error ? error : { name: '', message: '' };
  return name === 'AI_UnsupportedFunctionalityError' || message === 'Not implemented';
}

/** Errors of providers of the SDK for a response that is no stream, such as that of a server which ignores `stream: true`. */
function isNoStream(error: unknown): boolean {
  const { name } = error instanceof Error ? error : { name: '' };
  return name === 'AI_InvalidResponseDataError' || name === 'AI_EmptyResponseBodyError';
}

function cutOff(): Error {
  const error = new Error('the stream ended in the middle of the answer');
  return Object.assign(error, { name: 'StreamCutOff', isRetryable: true });
}
