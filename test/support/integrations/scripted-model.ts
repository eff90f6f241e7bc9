import { MockModel } from './mock-model.js';

/** The model's answer in one turn: a text, or tool calls by alias. */
export type ScriptedTurn =
  | string
  | {
      readonly text?: string;
      readonly calls?: readonly (readonly [name: string, input: unknown])[];
      /** Tokens in and out; default 10 and 5. */
      readonly tokens?: readonly [number | undefined, number | undefined];
      readonly finish?: 'stop' | 'length' | 'tool-calls';
    };

type Generate = MockModel['doGenerate'];
type ModelCall = Parameters<Generate>[0];
type Answer = Awaited<ReturnType<Generate>>;

/** A mock model that answers with the turns of a script, or with what a function returns for the conversation. */
export function scriptedModel(
  script: readonly ScriptedTurn[] | ((modelCall: ModelCall, turn: number) => ScriptedTurn | Promise<ScriptedTurn>),
) {
  let turn = 0;
  return new MockModel({
    provider: 'mock.chat',
    modelId: 'scripted',
    doGenerate: async (modelCall) => {
      turn++;
      const scripted = typeof script === 'function' ? await script(modelCall, turn) : script[turn - 1];
      if (scripted === undefined) throw new Error(`the script has no turn ${turn}`);
      return toAnswer(scripted, turn);
    },
  });
}

/** The tool results in the last message of a model call. */
export function toolResultsIn({ prompt }: ModelCall): unknown[] {
  const last = prompt.at(-1);
  if (last?.role !== 'tool') return [];
  return last.content.map((part) =>
    part.type === 'tool-result' && 'value' in part.output ? part.output.value : part.type,
  );
}

function toAnswer(turnScript: ScriptedTurn, turn: number): Answer {
  const fullScript = typeof turnScript === 'string' ? { text: turnScript } : turnScript;
  const { text = '', calls = [], tokens = [10, 5], finish = calls.length === 0 ? 'stop' : 'tool-calls' } = fullScript;
  const [input, output] = tokens;
  return {
    content: [
      ...(text === '' ? [] : [{ type: 'text' as const, text }]),
      ...calls.map(([toolName, value], index) => ({
        type: 'tool-call' as const,
        toolCallId: `call-${turn}-${index}-${Math.random()}`,
        toolName,
        input: typeof value === 'string' ? value : JSON.stringify(value),
      })),
    ],
    finishReason: { unified: finish, raw: undefined },
    usage: {
      inputTokens: { total: input, noCache: input, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: output, text: output, reasoning: undefined },
    },
    warnings: [],
  };
}
