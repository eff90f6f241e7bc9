import type { JsonValue, Syscalls, TurnPart } from '../../../index.js';
import type { RecordedTurns } from '../../shared/told-turns.js';
import { callPart, textPart, toCallId, toToolName } from '../../shared/turn-parts.js';
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
  async commit(answer: StoredAnswer, request: JsonValue, record: RecordedTurns): Promise<void> {
    const parts = answer.content.flatMap((part) => this.committedPart(part) ?? []);
    const finishReason = finishReasonOf(answer.finishReason).slice(0, 256);
    const end: TurnPart = { type: 'turn-end', usage: answer.charged, finishReason };
    await this.ctx.turns.commit([{ type: 'turn-start' }, ...parts, end], { request, record });
  }

  private shownPart(part: ModelPart): TurnPart | undefined {
    const id = toCallId(part.id);
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
          tool: this.tools.get(id) ?? this.toolName(''),
          delta: String(part.delta ?? '').toWellFormed(),
        };
      default:
        return undefined;
    }
  }

  private committedPart(part: ModelPart): TurnPart | undefined {
    const { type, text, toolCallId, toolName, input, result, isError } = part;
    if (type === 'text' || type === 'reasoning') return textPart(type, text);
    const tool = this.toolName(toolName);
    if (type === 'tool-call') return callPart(toolCallId, tool, input);
    if (type !== 'tool-result') return undefined;
    const call = { id: toCallId(toolCallId), tool };
    return { type, ...call, result: (result ?? null) as JsonValue, ...(isError === true ? { isError } : {}) };
  }

  private toolName(alias: unknown): string {
    return toToolName(this.nameOf(String(alias)));
  }
}
