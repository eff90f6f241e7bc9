import { isKernelError, type Syscalls } from '../../../index.js';
import { toldTurnsOf } from '../../shared/told-turns.js';
import { callPart, type ToldResult } from '../../shared/turn-parts.js';
import { type AgentModel, assertModel } from './agent-model.js';
import { finishPart, toStreamParts } from './answer-stream.js';
import { type GovernedModelOptions, parseGovernedOptions } from './governed-options.js';
import type { ModelCall, ModelPart } from './model-call.js';
import { abortError, ModelTurns } from './model-turns.js';
import { PartOutlet } from './part-outlet.js';
import { toReport } from './reported-usage.js';
import type { StoredAnswer } from './stored-answer.js';
import { loadFiles } from './stored-files.js';
import { toToldResult } from './tool-result-part.js';

/**
 * A language model of the AI SDK whose turns are those of a process: for `generateText`, `streamText`, `ToolLoopAgent` and
 * whatever else takes a model. Each turn needs `call` on `model:PROVIDER/ID`, is reserved before and charged after by what the
 * provider reports, gets no more output tokens than the budget leaves, and is a journalled step: a rerun gets the same answer,
 * also as a stream, and the model is not asked again. In a stream, text and reasoning pass as they come; tool calls and the
 * end are held back until the turn is on record. Throws INVALID_INPUT; turns throw CAPABILITY_DENIED, BUDGET_EXCEEDED,
 * MODEL_FAILED.
 *
 * @example
 * const { text } = streamText({ model: governedModel(ctx, openai('gpt-5')), tools: await toolsFor(ctx), prompt });
 */
export function governedModel(ctx: Syscalls, model: AgentModel, options: GovernedModelOptions = {}): AgentModel {
  const settings = parseGovernedOptions(options);
  const source = assertModel(model);
  const turns = new ModelTurns(ctx, source, { ...settings, nameOf: (alias) => alias });
  const told = toldTurnsOf(ctx);
  const { specificationVersion, provider, modelId } = source;

  /** Commits what tools have answered since the last turn, and asks. */
  const ask = async (call: ModelCall, outlet?: PartOutlet): Promise<StoredAnswer> => {
    await told.commitResults(resultsIn(call));
    const answer = await turns.run(call, outlet === undefined ? undefined : [outlet]).catch((error: unknown) => {
      throw isGivenUp(error) ? abortError() : error;
    });
    const calls = answer.content.filter(({ type }) => type === 'tool-call');
    told.expect(calls.map(({ toolCallId, toolName, input }) => callPart(toolCallId, toolName, input)));
    return answer;
  };

  const doGenerate = async (call: ModelCall) => {
    const answer = await ask(call);
    const { finishReason, usage, providerMetadata, warnings, response } = answer;
    const { timestamp, ...others } = response;
    return {
      content: await loadFiles(ctx, answer.content),
      finishReason,
      usage: toReport(specificationVersion, usage),
      ...(providerMetadata === undefined ? {} : { providerMetadata }),
      warnings,
      response: { ...others, ...(timestamp === undefined ? {} : { timestamp: new Date(timestamp) }) },
    };
  };

  const doStream = async (call: ModelCall): Promise<{ stream: ReadableStream<ModelPart> }> => {
    const outlet = new PartOutlet();
    const turn = ask(call, outlet).then(async (answer) => {
      const content = await loadFiles(ctx, answer.content);
      const finish = finishPart(specificationVersion, answer);
      outlet.complete(toStreamParts(specificationVersion, answer, content), finish);
    });
    turn.catch((error: unknown) => outlet.isFinal && outlet.fail(error));
    // An error before the first part is that of the call, as of a model that does not answer.
    await Promise.race([turn, outlet.begun]);
    return { stream: outlet.stream };
  };

  const governed = {
    specificationVersion,
    provider,
    modelId,
    get supportedUrls() {
      return source.supportedUrls;
    },
    doGenerate,
    doStream,
  };
  return governed as object as AgentModel;
}

function isGivenUp(error: unknown): boolean {
  return isKernelError(error, 'MODEL_FAILED') && error.facts.name === 'AbortError';
}

/** The results of tools in a prompt: those of a turn are in the messages after it. */
function resultsIn({ prompt }: ModelCall): ToldResult[] {
  return prompt.slice(-resultMessagesMax).flatMap(({ role, content }) => {
    if (role !== 'tool' || typeof content === 'string') return [];
    return content.filter(({ type }) => type === 'tool-result').map(toToldResult);
  });
}
const resultMessagesMax = 64;
