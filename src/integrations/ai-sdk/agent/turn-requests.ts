import type { ModelMessage, ToolChoice, ToolSet } from 'ai';
import { jsonSchemaOf, KernelError, type Syscalls } from '../../../index.js';
import { modelFailed } from '../../shared/model-error.js';
import { noUsage } from '../../shared/model-usage.js';
import { toPlainSchema } from '../../shared/plain-schema.js';
import { type AiPackage } from '../ai-package.js';
import { type AgentModel, modelResource } from '../model/agent-model.js';
import type { ModelCall } from '../model/model-call.js';
import type { ModelTurns } from '../model/model-turns.js';
import { toReport } from '../model/reported-usage.js';
import type { StoredAnswer } from '../model/stored-answer.js';
import { toolDeclarations } from '../tools-for.js';
import type { Agent, ProviderOptions } from './agent-spec.js';
import { withFiles } from './message-files.js';

/** One turn of an agent. */
export interface TurnRequest {
  /** Names it in the journal. */
  readonly name: string;
  readonly messages: readonly ModelMessage[];
  readonly system?: string | undefined;
  /** The tools that are shown, by the kernel's names, and the names that a model uses for all that are visible. */
  readonly tools?: { readonly shown: readonly string[]; readonly aliases: Readonly<Record<string, string>> };
  readonly toolChoice?: ToolChoice<ToolSet> | undefined;
  readonly providerOptions?: ProviderOptions | undefined;
  readonly temperature?: number | undefined;
  /** Whether the answer is to be an object of the agent's schema. */
  readonly isStructured?: boolean;
}

/** Has the SDK put the requests of an agent together, and takes the answers from the journalled turns of its model. */
export class TurnRequests {
  constructor(
    private readonly ctx: Syscalls,
    private readonly sdk: AiPackage,
    private readonly agent: Agent,
    private readonly model: AgentModel,
    private readonly turns: ModelTurns,
  ) {}

  /** Throws as a turn of a governed model, and MODEL_FAILED where the SDK refuses the request. */
  async ask(request: TurnRequest): Promise<StoredAnswer> {
    const asked = new AskedModel(this.turns, request.name);
    try {
      await this.sdk.generateText(await this.optionsFor(request, asked));
    } catch (error) {
      if (asked.error !== undefined) throw asked.error.reason;
      // The SDK may refuse the answer, such as an object that does not fit: it is journalled, and judged by the loop.
      if (asked.answer === undefined) throw refused(this.model, error);
    }
    if (asked.answer === undefined) throw refused(this.model, new Error('the SDK has not asked the model'));
    return asked.answer;
  }

  private async optionsFor(request: TurnRequest, model: AskedModel): Promise<Parameters<AiPackage['generateText']>[0]> {
    const { system, toolChoice, providerOptions, temperature, isStructured } = request;
    const { ctx, sdk, agent } = this;
    const tools = await this.declarationsFor(request);
    const hasTools = Object.keys(tools).length > 0;
    const options = {
      model: model as object as AgentModel,
      messages: await withFiles(ctx, request.messages),
      ...(hasTools ? { tools } : {}),
      ...(hasTools && toolChoice !== undefined ? { toolChoice } : {}),
      ...(system === undefined ? {} : { system }),
      ...(providerOptions === undefined ? {} : { providerOptions }),
      ...(temperature === undefined ? {} : { temperature }),
      ...(isStructured === true && agent.output !== undefined
        ? { output: sdk.Output.object({ schema: sdk.jsonSchema(toPlainSchema(jsonSchemaOf(agent.output))) }) }
        : {}),
      abortSignal: ctx.signal,
      // The step retries, and its waits survive a restart of the program.
      maxRetries: 0,
    };
    // The types of both versions of the SDK.
    return options as object as Parameters<AiPackage['generateText']>[0];
  }

  private async declarationsFor({ tools }: TurnRequest): Promise<ToolSet> {
    if (tools === undefined) return {};
    const { shown, aliases } = tools;
    const infos = (await this.ctx.tools.list()).filter(({ name }) => shown.includes(name));
    return toolDeclarations(this.sdk, infos, aliases);
  }
}

/** The model as the SDK gets it for one request. It keeps the answer, or the error, of the turn. */
class AskedModel {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
  answer: StoredAnswer | undefined;
  error: { readonly reason: unknown } | undefined;

  constructor(
    private readonly turns: ModelTurns,
    private readonly turnName: string,
  ) {
    const { specificationVersion, provider, modelId } = turns.source;
    this.specificationVersion = specificationVersion;
    this.provider = provider;
    this.modelId = modelId;
  }

  get supportedUrls(): unknown {
    return this.turns.source.supportedUrls;
  }

  async doGenerate(call: ModelCall): Promise<object> {
    try {
      // Always as a stream, so that there is something to be seen while the model answers.
      this.answer = await this.turns.run(call, [], this.turnName);
    } catch (reason) {
      this.error = { reason };
      throw reason;
    }
    const { content, finishReason, usage, warnings } = this.answer;
    const texts = content.filter(({ type }) => type === 'text' || type === 'tool-call');
    return { content: texts, finishReason, usage: toReport(this.specificationVersion, usage), warnings };
  }
}

function refused(model: AgentModel, error: unknown): unknown {
  return error instanceof KernelError ? error : modelFailed(modelResource(model), error, noUsage);
}
