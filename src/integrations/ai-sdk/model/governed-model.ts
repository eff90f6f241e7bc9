import type { JsonValue, Syscalls, TurnPart } from '../../../index.js';
import { isKernelError } from '../../../index.js';
import { type AgentModel, assertModel } from './agent-model.js';
import { finishPart, toStreamParts } from './answer-stream.js';
import { type GovernedModelOptions, parseGovernedOptions } from './governed-options.js';
import type { ModelCall, ModelPart } from './model-call.js';
import { abortError, ModelTurns } from './model-turns.js';
import { PartOutlet } from './part-outlet.js';
import { toReport } from './reported-usage.js';
import type { StoredAnswer } from './stored-answer.js';
import { loadFiles } from './stored-files.js';
import { resultPart } from './tool-result-part.js';

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
  const results = new ResultsInPrompts(ctx);
  const { specificationVersion, provider, modelId } = source;

  /** Commits what tools have answered since the last turn, and asks. */
  const ask = async (call: ModelCall, outlet?: PartOutlet): Promise<StoredAnswer> => {
    await results.commit(call);
    const answer = await turns.run(call, outlet === undefined ? undefined : [outlet]).catch((error: unknown) => {
      throw isGivenUp(error) ? abortError() : error;
    });
    results.expect(answer);
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

/** What tools have answered, as the next prompt tells it: the SDK runs them, and readers of the turns want to know. */
class ResultsInPrompts {
  private expected = new Set<string>();

  constructor(private readonly ctx: Syscalls) {}

  expect({ content }: StoredAnswer): void {
    for (const { type, toolCallId } of content) if (type === 'tool-call') this.expected.add(String(toolCallId));
  }

  async commit({ prompt }: ModelCall): Promise<void> {
    const found: TurnPart[] = [];
    for (const { role, content } of prompt.slice(-resultMessagesMax)) {
      if (role !== 'tool' || typeof content === 'string') continue;
      for (const part of content) {
        const id = String(part.toolCallId);
        if (part.type === 'tool-result' && this.expected.delete(id))
          found.push(resultPart(id, String(part.toolName), part.output as JsonValue));
      }
    }
    if (found.length > 0) await this.ctx.turns.commit(found);
  }
}

/** The results of a turn are in the messages after it. */
const resultMessagesMax = 64;
