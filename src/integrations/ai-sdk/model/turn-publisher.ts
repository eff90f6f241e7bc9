import type { JsonObject, JsonValue, Syscalls, TurnPart } from '../../../index.js';
import { toStorable } from '../../shared/storable.js';
import type { PartListener } from './model-attempt.js';
import type { ModelPart } from './model-call.js';
import { finishReasonOf, type StoredAnswer } from './stored-answer.js';

/** Tells readers of `kernel.agents.stream` of the turns of a model: parts as they come, and the turn when it is committed. */
export class TurnPublisher implements PartListener {
  readonly isFinal = false;
  /** The tools whose arguments are coming, by the id of the call. */
  private readonly tools = new Map<string, string>();

  /** `nameOf`: the name of a tool in the kernel, for that which the model uses. */
  constructor(
    private readonly ctx: Syscalls,
    private readonly nameOf: (alias: string) => string,
  ) {}

  begin(): void {
    this.tools.clear();
    this.ctx.turns.publish({ type: 'turn-start' });
  }

  onPart(part: ModelPart): void {
    const shown = this.shownPart(part);
    if (shown !== undefined) this.ctx.turns.publish(shown);
  }

  /** Commits the turn with all that was said. */
  async commit(answer: StoredAnswer, request: JsonValue, record: 'none' | 'hash' | 'full'): Promise<void> {
    const parts = answer.content.flatMap((part) => this.committedPart(part) ?? []);
    const finishReason = finishReasonOf(answer.finishReason).slice(0, 256);
    const end: TurnPart = { type: 'turn-end', usage: answer.charged, finishReason };
    await this.ctx.turns.commit([{ type: 'turn-start' }, ...parts, end], { request, record });
  }

  private shownPart(part: ModelPart): TurnPart | undefined {
    const id = callId(part.id);
    switch (part.type) {
      case 'text-delta':
        return textPart('text', part.delta);
      case 'reasoning-delta':
        return textPart('reasoning', part.delta);
      case 'tool-input-start':
        this.tools.set(id, this.toolName(part.toolName));
        return undefined;
      case 'tool-input-delta':
        return {
          type: 'tool-call',
          id,
          tool: this.tools.get(id) ?? unnamed,
          delta: String(part.delta ?? '').toWellFormed(),
        };
      default:
        return undefined;
    }
  }

  private committedPart(part: ModelPart): TurnPart | undefined {
    const { type, text, toolCallId, toolName, input, result, isError } = part;
    if (type === 'text' || type === 'reasoning') return textPart(type, text);
    const call = { id: callId(toolCallId), tool: this.toolName(toolName) };
    if (type === 'tool-call') return { type, ...call, args: argumentsIn(input) };
    if (type !== 'tool-result') return undefined;
    return { type, ...call, result: (result ?? null) as JsonValue, ...(isError === true ? { isError } : {}) };
  }

  private toolName(alias: unknown): string {
    return this.nameOf(String(alias)).toWellFormed().slice(0, 256) || unnamed;
  }
}

const unnamed = '?';

function callId(id: unknown): string {
  return (
    String(id ?? '')
      .toWellFormed()
      .slice(0, 512) || unnamed
  );
}

function textPart(type: 'text' | 'reasoning', text: unknown): TurnPart | undefined {
  return typeof text !== 'string' || text === '' ? undefined : { type, text: text.toWellFormed() };
}

/** The arguments of a call, which come as JSON; a text that is no JSON as it is. */
export function argumentsIn(input: unknown): JsonValue {
  if (typeof input !== 'string') return toStorable(input ?? {}) as JsonObject;
  try {
    return input.trim() === '' ? {} : (toStorable(JSON.parse(input)) as JsonValue);
  } catch {
    return input.toWellFormed();
  }
}
