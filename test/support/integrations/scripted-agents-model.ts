import type { ModelResponse } from '@openai/agents-core';
import { Usage } from '@openai/agents-core';
import {
  assistantMessage,
  functionCall,
  modelResponder,
  type RecordedModelCall,
  ScriptedModel,
} from '@openai/agents-core/testing';

/** One turn of a scripted model of the OpenAI Agents SDK: a text, or calls of tools. */
export type AgentsTurn =
  | string
  | { readonly calls: readonly (readonly [name: string, args: Record<string, unknown>])[] };

/** The tokens of each turn. */
const tokens = { requests: 1, inputTokens: 10, outputTokens: 5, totalTokens: 15 };

/**
 * A model that answers by the number of its turn in the conversation, counted from the answers that it is sent: a run that goes on
 * after a crash gets the turns that are left.
 */
export function scriptedAgentsModel(script: readonly AgentsTurn[], turnsMax = 100): ScriptedModel {
  const respond = (call: RecordedModelCall) => {
    const turn = script[Math.min(turnOf(call), script.length - 1)] ?? 'no turn is left';
    return toResponse(turn, turnOf(call));
  };
  return new ScriptedModel(Array.from({ length: turnsMax }, () => modelResponder(respond)));
}

/** The number of turns that the model has answered with calls before. */
function turnOf({ request }: RecordedModelCall): number {
  const items = typeof request.input === 'string' ? [] : request.input;
  const turns = items.map((item) =>
    item.type === 'function_call' ? /^call-(\d+)-/.exec(item.callId)?.[1] : undefined,
  );
  return Math.max(-1, ...turns.filter((turn) => turn !== undefined).map(Number)) + 1;
}

function toResponse(turn: AgentsTurn, number: number): ModelResponse {
  const output =
    typeof turn === 'string'
      ? [assistantMessage(turn)]
      : turn.calls.map(([name, args], index) => functionCall(name, args, { callId: `call-${number}-${index}` }));
  return { usage: new Usage(tokens), output, responseId: `response-${number}` };
}

/** The results of tools in a request, as the model reads them. */
export function resultsIn(call: RecordedModelCall | undefined): string[] {
  const items = call === undefined || typeof call.request.input === 'string' ? [] : call.request.input;
  return items.flatMap((item) => {
    if (item.type !== 'function_call_result') return [];
    const { output } = item;
    return [typeof output === 'string' ? output : JSON.stringify('text' in output ? output.text : output)];
  });
}
