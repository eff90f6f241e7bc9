import type { ModelMessage, ToolModelMessage, ToolResultPart } from 'ai';
import type { JsonValue, Syscalls } from '../../index.js';
import { modelFor, modelResource } from './agent-model.js';
import type { Agent } from './agent-spec.js';
import { loadAiPackage } from './ai-package.js';
import { usageInFailure } from './model-error.js';
import { askModel, type RequestedCall, type Turn } from './model-turn.js';
import { type ModelUsage, noUsage, sumUsage } from './model-usage.js';
import { toolErrorValue } from './tool-error-value.js';
import { Transcript } from './transcript.js';
import { estimateUsage, reserveTurn, settleTurn } from './turn-budget.js';

/** The result of an agent's process. */
export type AgentResult = {
  /** The text of the model's last answer. */
  readonly text: string;
  /** The number of calls of the model. */
  readonly turns: number;
  /** Why the model stopped: `stop`, `length`, and so on; `max_turns` when the limit of turns ended the loop. */
  readonly finishReason: string;
  /** The tokens of all turns. */
  readonly usage: ModelUsage;
};

/**
 * The body of an agent. Throws CAPABILITY_DENIED where the process may not call the model, BUDGET_EXCEEDED where nothing is
 * left for another turn, MODEL_FAILED, MISSING_PACKAGE before anything is asked.
 */
export async function runAgent(ctx: Syscalls, agent: Agent, args: JsonValue): Promise<AgentResult> {
  await loadAiPackage();
  const model = await modelFor(ctx, agent.model);
  const resource = modelResource(model);
  const transcript = new Transcript(ctx);
  const messages = await openingPrompt(ctx, args, agent.contextTokens, transcript);
  try {
    return await runTurns();
  } catch (error) {
    // The error is the one to report, whether or not the last results can be stored.
    await transcript.save(messages).catch(() => undefined);
    throw error;
  }

  async function runTurns(): Promise<AgentResult> {
    let usage = noUsage;
    for (let turns = 1; ; turns++) {
      const turn = await runTurn(turns);
      usage = sumUsage(usage, turn.usage);
      messages.push(...turn.messages);
      const isLast = turn.calls.length === 0 || turns === agent.maxTurns;
      ctx.progress(turns, isLast ? turns : agent.maxTurns);
      if (isLast) {
        // Also what is stored already: a turn that a crash has cut off was stored with another answer.
        await transcript.saveAll(messages);
        const finishReason = turn.calls.length === 0 ? turn.finishReason : 'max_turns';
        return { text: turn.text, turns, finishReason, usage };
      }
      messages.push(await runToolCalls(ctx, turn.calls));
    }
  }

  /** Reserves before the model is asked and charges after. All of it is journalled, so a rerun pays for no turn again. */
  async function runTurn(turnNumber: number): Promise<Turn> {
    await ctx.capabilities.require('call', resource);
    const estimated = estimateUsage(agent, messages);
    const reservation = await reserveTurn(ctx, agent, estimated);
    const request = { model, resource, messages, estimated, transcript };
    const turn = await askModel(ctx, agent, `turn ${turnNumber}`, request).catch(async (error: unknown) => {
      const used = usageInFailure(error);
      // The error of the model is the one to report, whatever the price function says.
      if (used !== undefined) await settleTurn(ctx, agent, reservation, used).catch(() => undefined);
      throw error;
    });
    await settleTurn(ctx, agent, reservation, turn.usage);
    return turn;
  }
}

/**
 * The first messages to the model: memory, goal and arguments, then the parent of an agent that has one. A step, so a rerun
 * gets the same text. It begins the transcript.
 */
async function openingPrompt(
  ctx: Syscalls,
  args: JsonValue,
  contextTokens: number,
  transcript: Transcript,
): Promise<ModelMessage[]> {
  const texts = await ctx.step('context', async (): Promise<string | string[]> => {
    const { payload } = await ctx.memory.read(ctx.goal);
    const parts = [await memoryText(ctx, contextTokens), toText(payload), argumentsText(args)];
    const task = parts.filter((part) => part !== '').join('\n\n') || 'Begin.';
    const parent = await ctx.parent();
    const opening =
      parent === null ? task : [task, `You are process ${ctx.pid}, and your parent is process ${parent}.`];
    await transcript.begin(toUserMessages(opening));
    return opening;
  });
  return toUserMessages(texts);
}

function toUserMessages(texts: string | readonly string[]): ModelMessage[] {
  return [texts].flat().map((content) => ({ role: 'user', content }));
}

/** The process's memory as text; empty where it holds nothing but the goal. */
async function memoryText(ctx: Syscalls, tokensMax: number): Promise<string> {
  if (tokensMax === 0) return '';
  const { text, manifest } = await ctx.memory.materialize({ tokensMax });
  const hasMore = manifest.some(({ object, included }) => included && object !== ctx.goal.id);
  return hasMore ? `What you know:\n\n${text}` : '';
}

function argumentsText(args: JsonValue): string {
  const text = toText(args);
  return typeof args === 'string' || text === '' ? text : `Arguments: ${text}`;
}

/** A string, and the text of `{ text }`, as it is; null and empty containers as nothing; everything else as JSON. */
function toText(value: JsonValue): string {
  if (typeof value === 'string') return value;
  if (value === null || (typeof value === 'object' && Object.keys(value).length === 0)) return '';
  if (typeof value === 'object' && 'text' in value && Object.keys(value).length === 1) return String(value.text);
  return JSON.stringify(value);
}

/** The longest result that a model is given whole. The complete result is an object of the process. */
const resultCharactersMax = 65_536;

/** Runs the calls of a turn concurrently; the results are in the order of the calls. */
async function runToolCalls(ctx: Syscalls, calls: readonly RequestedCall[]): Promise<ToolModelMessage> {
  return { role: 'tool', content: await Promise.all(calls.map((call) => runToolCall(ctx, call))) };
}

/** The journal identifies the call by the tool's name and its number; `id` is only for the model. */
async function runToolCall(ctx: Syscalls, { id, alias, tool, input }: RequestedCall): Promise<ToolResultPart> {
  return { type: 'tool-result', toolCallId: id, toolName: alias, output: await callTool(ctx, tool, input) };
}

async function callTool(ctx: Syscalls, tool: string, input: JsonValue): Promise<ToolResultPart['output']> {
  try {
    return { type: 'json', value: limitResult(await ctx.tools.call(tool, input)) };
  } catch (error) {
    return { type: 'error-json', value: toolErrorValue(ctx, error) };
  }
}

type JsonOutput = Extract<ToolResultPart['output'], { type: 'json' }>['value'];

function limitResult(result: JsonValue): JsonOutput {
  const text = JSON.stringify(result);
  if (text.length <= resultCharactersMax) return result as JsonOutput;
  return { cut: true, characters: text.length, text: text.slice(0, resultCharactersMax).toWellFormed() };
}
