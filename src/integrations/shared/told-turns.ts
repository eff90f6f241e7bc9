import { createHash } from 'node:crypto';
import type { JsonValue, Syscalls, TurnPart } from '../../index.js';
import type { ModelUsage } from './model-usage.js';
import { toStorable } from './storable.js';
import { resultPart, type ToldResult, toCallId } from './turn-parts.js';

/** How much of requests and answers is on record: nothing, hashes, or all of it. */
export type RecordedTurns = 'none' | 'hash' | 'full';

/** A turn that is complete. */
export interface ToldTurn {
  readonly parts: readonly TurnPart[];
  readonly usage: ModelUsage;
  readonly finishReason?: string | undefined;
}

/** Of a longer request only the hash is on record. */
const requestCharsMax = 1_000_000;

const toldTurns = new WeakMap<Syscalls, ToldTurns>();

/** One for each body: its models share the calls of which results are expected. */
export function toldTurnsOf(ctx: Syscalls): ToldTurns {
  const told = toldTurns.get(ctx) ?? new ToldTurns(ctx);
  toldTurns.set(ctx, told);
  return told;
}

/** Tells readers of `kernel.agents.stream` of turns whose tools an SDK calls: the answers, and the results in later requests. */
class ToldTurns {
  /** The tools of calls whose results are not told yet, by the ids of the calls. */
  private readonly expected = new Map<string, string>();

  constructor(private readonly ctx: Syscalls) {}

  /** Commits what the tools have answered since the last turn. */
  async commitResults(results: readonly ToldResult[]): Promise<void> {
    // A model may give the same id again: the newest result with it is the one that is new.
    const newest = new Map(results.map((result) => [toCallId(result.id), result]));
    const known = [...this.expected].filter(([id]) => newest.has(id));
    const found = known.map(([id, tool]) => resultPart({ ...newest.get(id), id }, tool, known.length));
    for (const part of found) if (part.type === 'tool-result') this.expected.delete(part.id);
    if (found.length > 0) await this.ctx.turns.commit(found);
  }

  /** Commits a turn, with its request for the audit log. */
  async commitTurn(turn: ToldTurn, request: JsonValue, record: RecordedTurns): Promise<void> {
    const { parts, usage, finishReason } = turn;
    const end: TurnPart = {
      type: 'turn-end',
      usage,
      ...(finishReason === undefined ? {} : { finishReason: finishReason.toWellFormed().slice(0, 256) }),
    };
    await this.ctx.turns.commit([{ type: 'turn-start' }, ...parts, end], { request, record });
    this.expect(parts);
  }

  /** The calls whose results are to be told. */
  expect(parts: readonly TurnPart[]): void {
    for (const part of parts) if (part.type === 'tool-call') this.expected.set(part.id, part.tool);
  }
}

/** What the audit log gets to know of a request to the model. */
export function toRecordedRequest(model: string, request: unknown, record: RecordedTurns): JsonValue {
  if (record === 'none') return { model };
  const storable = toStorable(request ?? null) as JsonValue;
  const text = JSON.stringify(storable);
  if (record === 'full' && text.length <= requestCharsMax) return { model, request: storable };
  return { model, requestHash: createHash('sha256').update(text).digest('hex') };
}
