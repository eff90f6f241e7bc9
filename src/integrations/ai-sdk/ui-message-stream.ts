import type { UIMessageChunk } from 'ai';
import type { AgentPart, JsonValue, Kernel, Pid } from '../../index.js';

/** Options of `toUIMessageStream`. */
export interface UIMessageStreamOptions {
  /** Leaves out the turns up to this one. The metadata of messages has the number of the last turn: `{ turn }`. */
  readonly afterTurn?: number;
  /** Ends the stream after what was said until then, such as the reply of `kernel.agents.say`. Default: the end of the process. */
  readonly until?: Promise<unknown>;
  /** Ends the stream. */
  readonly signal?: AbortSignal;
}

/**
 * What an agent says and does as a stream of message parts of the AI SDK, for `createUIMessageStreamResponse` and `useChat`.
 * Questions of the process to a person are parts `data-question`. A turn that begins anew, after a failed attempt, is a step of
 * its own. Errors of the stream are those of `kernel.agents.stream`.
 *
 * @example
 * const until = kernel.agents.say(pid, text, { id });
 * return createUIMessageStreamResponse({ stream: toUIMessageStream(kernel, pid, { afterTurn, until }) });
 */
export function toUIMessageStream(
  kernel: Kernel,
  pid: Pid,
  options: UIMessageStreamOptions = {},
): ReadableStream<UIMessageChunk> & AsyncIterable<UIMessageChunk> {
  return ReadableStream.from(readChunks(kernel, pid, options)) as ReadableStream<UIMessageChunk> &
    AsyncIterable<UIMessageChunk>;
}

async function* readChunks(
  kernel: Kernel,
  pid: Pid,
  { afterTurn = 0, until, signal }: UIMessageStreamOptions,
): AsyncGenerator<UIMessageChunk> {
  const over = new AbortController();
  const ends = signal === undefined ? over.signal : AbortSignal.any([over.signal, signal]);
  until?.then(
    () => over.abort(),
    () => over.abort(),
  );
  const message = new MessageChunks();
  yield { type: 'start' };
  try {
    for await (const part of kernel.agents.stream(pid, { signal: ends })) {
      if (part.type === 'end' || part.turn > afterTurn) yield* message.chunksOf(part);
    }
  } finally {
    over.abort();
  }
  yield* message.finish();
}

/** Turns parts of agents into those of one message. */
class MessageChunks {
  private open: { readonly type: 'text' | 'reasoning'; readonly id: string } | undefined;
  private texts = 0;
  private turn: number | undefined;
  private isStepOpen = false;
  private readonly tools = new Set<string>();

  *chunksOf(part: AgentPart): Generator<UIMessageChunk> {
    switch (part.type) {
      case 'turn-start':
        yield* this.endStep();
        this.isStepOpen = true;
        yield { type: 'start-step' };
        return;
      case 'text':
      case 'reasoning':
        yield* this.text(part.type, part.text);
        return;
      case 'tool-call':
        yield* this.toolCall(part);
        return;
      case 'tool-result':
        yield toolOutput(part);
        return;
      case 'turn-end':
        yield* this.endText();
        this.turn = part.turn;
        return;
      case 'question': {
        const { id, question, choices, schema } = part;
        yield { type: 'data-question', id, data: { question, choices, schema } };
        return;
      }
      case 'end':
        if (part.outcome.kind !== 'completed') {
          const { kind, reason } = part.outcome;
          yield { type: 'error', errorText: reason === undefined ? kind : `${kind}: ${reason}` };
        }
    }
  }

  *finish(): Generator<UIMessageChunk> {
    yield* this.endText();
    yield* this.endStep();
    yield { type: 'finish' };
  }

  private *text(type: 'text' | 'reasoning', delta: string): Generator<UIMessageChunk> {
    if (this.open?.type !== type) {
      yield* this.endText();
      this.open = { type, id: `${type}-${++this.texts}` };
      yield { type: `${type}-start`, id: this.open.id };
    }
    yield { type: `${type}-delta`, id: this.open.id, delta };
  }

  private *toolCall(part: Extract<AgentPart, { type: 'tool-call' }>): Generator<UIMessageChunk> {
    yield* this.endText();
    const { id: toolCallId, tool: toolName, args, delta } = part;
    if (args !== undefined) {
      yield { type: 'tool-input-available', toolCallId, toolName, input: args, dynamic: true };
      return;
    }
    if (!this.tools.has(toolCallId)) {
      this.tools.add(toolCallId);
      yield { type: 'tool-input-start', toolCallId, toolName, dynamic: true };
    }
    yield { type: 'tool-input-delta', toolCallId, inputTextDelta: delta ?? '' };
  }

  private *endText(): Generator<UIMessageChunk> {
    if (this.open !== undefined) yield { type: `${this.open.type}-end`, id: this.open.id };
    this.open = undefined;
  }

  /** Results of tools come after the end of their turn, and belong to its step. */
  private *endStep(): Generator<UIMessageChunk> {
    if (!this.isStepOpen) return;
    this.isStepOpen = false;
    yield* this.endText();
    yield { type: 'finish-step' };
    if (this.turn !== undefined) yield { type: 'message-metadata', messageMetadata: { turn: this.turn } };
  }
}

function toolOutput(part: Extract<AgentPart, { type: 'tool-result' }>): UIMessageChunk {
  const { id: toolCallId, result, isError } = part;
  if (isError !== true) return { type: 'tool-output-available', toolCallId, output: result, dynamic: true };
  return { type: 'tool-output-error', toolCallId, errorText: errorTextOf(result), dynamic: true };
}

function errorTextOf(result: JsonValue): string {
  const { error } = (result ?? {}) as { readonly error?: { readonly code?: string; readonly message?: string } };
  return error?.message === undefined ? JSON.stringify(result) : `${error.code}: ${error.message}`;
}
