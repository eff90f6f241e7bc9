import type { ModelMessage } from 'ai';
import type { JsonValue, Syscalls } from '../../index.js';
import { modelFor, modelResource } from './agent-model.js';
import type { Agent } from './agent-spec.js';
import { type ModelUsage, noUsage, sumOf } from './model-usage.js';
import { openingPrompt } from './opening-prompt.js';
import { runToolCalls } from './run-tool-calls.js';
import { keepTranscript } from './transcript.js';
import { askModel, type Turn } from './turn.js';
import { estimatedUsage, reserveTurn, settleTurn } from './turn-budget.js';

/** What an agent ends with. */
export type AgentResult = {
  /** The last that the model said. */
  readonly text: string;
  /** How often it was asked. */
  readonly turns: number;
  /** Why the model stopped: `stop`, `length`, and so on; `max_turns` when it was not asked any more. */
  readonly finishReason: string;
  readonly usage: ModelUsage;
};

/**
 * The body of an agent. Throws CAPABILITY_DENIED where the process may not call the model, BUDGET_EXCEEDED where nothing is
 * left for another turn, MODEL_FAILED.
 */
export async function runAgent(ctx: Syscalls, agent: Agent, args: JsonValue): Promise<AgentResult> {
  const model = await modelFor(ctx, agent.model);
  const resource = modelResource(model);
  const messages: ModelMessage[] = [{ role: 'user', content: await openingPrompt(ctx, args, agent.contextTokens) }];
  let usage = noUsage;
  for (let turns = 1; ; turns++) {
    const turn = await oneTurn(turns);
    usage = sumOf(usage, turn.usage);
    messages.push(...turn.messages);
    const isLast = turn.calls.length === 0 || turns === agent.maxTurns;
    ctx.progress(turns, isLast ? turns : agent.maxTurns);
    if (isLast) {
      await keepTranscript(ctx, messages);
      const finishReason = turn.calls.length === 0 ? turn.finishReason : 'max_turns';
      return { text: turn.text, turns, finishReason, usage };
    }
    messages.push(await runToolCalls(ctx, turn.calls));
  }

  /** What it takes is set aside before and charged after, and all of that is kept: a rerun pays for no turn again. */
  async function oneTurn(n: number): Promise<Turn> {
    await ctx.capabilities.require('call', resource);
    const estimated = estimatedUsage(agent, messages);
    const reservation = await reserveTurn(ctx, agent, estimated);
    const turn = await askModel(ctx, agent, `turn ${n}`, { model, resource, messages, estimated });
    await settleTurn(ctx, agent, reservation, turn.usage);
    return turn;
  }
}
