import type { ModelMessage, StopCondition, ToolSet } from 'ai';
import { isKernelError, type JsonValue, type Reply, type Syscalls } from '../../../index.js';
import { type ModelUsage, noUsage, sumUsage } from '../../shared/model-usage.js';
import { loadAiPackage } from '../ai-package.js';
import { modelFor } from '../model/agent-model.js';
import { ModelTurns } from '../model/model-turns.js';
import { finishReasonOf, type StoredAnswer } from '../model/stored-answer.js';
import { withPartial } from './agent-budget.js';
import type { Agent, TurnChanges } from './agent-spec.js';
import { assistantMessage, callsIn, textIn } from './assistant-message.js';
import { limitContext, summaryRequest } from './context-limit.js';
import { type ConversationState, fromState, JournalSize, toState } from './conversation-state.js';
import { earlierMessages } from './earlier-conversation.js';
import { emptyTask, openingPrompt, toUserMessages, userMessage } from './opening-prompt.js';
import { invalidOutput, parseOutput, repairMessage } from './structured-output.js';
import { type NamedCall, runToolCalls } from './tool-calls.js';
import { TrackedChildren } from './tracked-children.js';
import { Transcript } from './transcript.js';
import { newsMessages, type TurnInput, takeTurnInput, toNews } from './turn-input.js';
import { TurnRequests } from './turn-requests.js';

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
 * left for another turn, MODEL_FAILED, INVALID_OUTPUT, MISSING_PACKAGE before anything is asked.
 */
export async function runAgent(ctx: Syscalls, agent: Agent, args: JsonValue): Promise<JsonValue> {
  const sdk = await loadAiPackage();
  const model = await modelFor(ctx, agent.model);
  let aliases: Readonly<Record<string, string>> = {};
  const nameOf = (alias: string) => aliases[alias] ?? alias;
  const turns = new ModelTurns(ctx, model, { ...agent, name: 'turn', nameOf });
  const body = new AgentBody(ctx, agent, new TurnRequests(ctx, sdk, agent, model, turns), (next) => {
    aliases = next;
  });
  return body.run(args);
}

/** The state of a conversation has at most 4 MiB of JSON: two bytes are a token in the estimate. */
const stateLimit = { tokensMax: 1_500_000, compact: 'drop-tools' } as const;

/** What the body knows while it runs: the conversation, and what was used. */
class AgentBody {
  private messages: ModelMessage[] = [];
  private turn = 0;
  private usage = noUsage;
  private children = new TrackedChildren();
  private readonly transcript: Transcript;
  private readonly journal = new JournalSize();
  private readonly steps: object[] = [];
  /** All texts of the answer under way. */
  private said = '';

  constructor(
    private readonly ctx: Syscalls,
    private readonly agent: Agent,
    private readonly requests: TurnRequests,
    private readonly setAliases: (aliases: Readonly<Record<string, string>>) => void,
  ) {
    this.transcript = new Transcript(ctx);
  }

  async run(args: JsonValue): Promise<JsonValue> {
    try {
      return await this.converse(args);
    } catch (error) {
      // The error is the one to report, whether or not the last results can be stored.
      await this.transcript.save().catch(() => undefined);
      throw withPartial(error, this.said, this.turn);
    }
  }

  private async converse(args: JsonValue): Promise<JsonValue> {
    const { ctx, agent } = this;
    let last = ctx.state === undefined ? undefined : this.resume(fromState(ctx.state));
    const hasTask = ctx.state === undefined && (await this.open(args));
    if (hasTask) last = await this.answer();
    if (agent.conversation === false) return last ?? null;
    for (;;) {
      if (this.journal.isFull) await this.renew(last);
      const message = await this.nextMessage();
      if (message === undefined) return last ?? null;
      this.add(message);
      last = await this.answer();
    }
  }

  /** Answers with whether there is something to answer: a conversation without a goal waits for its first message. */
  private async open(args: JsonValue): Promise<boolean> {
    const opening = await openingPrompt(this.ctx, args, this.agent.contextTokens);
    this.messages.push(...earlierMessages(opening.earlier));
    const isEmpty = opening.texts.length === 0;
    if (isEmpty && this.agent.conversation !== false) return false;
    this.add(...(isEmpty ? [userMessage(emptyTask)] : toUserMessages(opening)));
    return true;
  }

  private resume({ messages, turn, children, usage, last }: ConversationState): JsonValue | undefined {
    this.messages = [...messages];
    this.turn = turn;
    this.usage = usage;
    this.children = new TrackedChildren(children);
    return last;
  }

  /** Begins anew with an empty journal. Where the state cannot be stored, the conversation goes on with the journal it has. */
  private async renew(last: JsonValue | undefined): Promise<void> {
    const { ctx, turn, transcript } = this;
    const kept = await limitContext(this.messages, stateLimit, turn + 1, undefined, async () => '');
    this.messages = kept.messages;
    transcript.leaveOut(kept.leftOut);
    await transcript.save();
    try {
      await ctx.renew(this.state(last));
    } catch (error) {
      if (!isKernelError(error, 'BUDGET_EXCEEDED', 'INVALID_INPUT')) throw error;
    }
  }

  private state(last: JsonValue | undefined): JsonValue {
    const { messages, turn, usage } = this;
    const children = this.children.list();
    return toState({ messages, turn, children, usage, ...(last === undefined ? {} : { last }) });
  }

  /** The next message; undefined where none came for as long as the agent waits. */
  private async nextMessage(): Promise<ModelMessage | undefined> {
    const { conversation } = this.agent;
    const { idleMs } = typeof conversation === 'object' ? conversation : {};
    try {
      const message = await this.ctx.receive(idleMs === undefined ? {} : { timeoutMs: idleMs });
      const { text, files } = await this.ctx.step('message', () => toNews(this.ctx, this.agent, message));
      return userMessage(text, files);
    } catch (error) {
      if (isKernelError(error, 'WAIT_TIMEOUT')) return undefined;
      throw error;
    }
  }

  /** Asks until the model requests no more tools, and gives the answer to those who wait for it. */
  private async answer(): Promise<JsonValue> {
    const { ctx, agent } = this;
    const before = this.usage;
    this.said = '';
    const { answer, finishReason } = await this.runTurns();
    const text = textIn(answer);
    const object = agent.output === undefined ? undefined : await this.objectIn(text);
    await this.transcript.save();
    if (agent.conversation !== false) {
      const reply: Reply = { text, ...(object === undefined ? {} : { object }), usage: difference(this.usage, before) };
      await ctx.turns.answer(reply);
    }
    return object ?? { text, turns: this.turn, finishReason, usage: this.usage };
  }

  private async runTurns(): Promise<{ answer: StoredAnswer; finishReason: string }> {
    const { agent } = this;
    for (let turns = 1; ; turns++) {
      const { answer, calls } = await this.runTurn();
      const isLast = calls.length === 0 || turns === agent.maxTurns;
      // A conversation has no end that there is progress to.
      if (agent.conversation === false) this.ctx.progress(turns, isLast ? turns : agent.maxTurns);
      if (isLast)
        return { answer, finishReason: calls.length === 0 ? finishReasonOf(answer.finishReason) : 'max_turns' };
      const results = await runToolCalls(this.ctx, calls);
      this.children.note(calls, results.content);
      this.add(results);
      this.steps.push(stepOf(answer, calls, results.content));
      if (await this.isStopped()) return { answer, finishReason: 'stop_when' };
    }
  }

  private async runTurn(): Promise<{ answer: StoredAnswer; calls: NamedCall[] }> {
    const { ctx, agent, transcript } = this;
    // A conversation answers its goal before any message.
    const takesMessages = agent.conversation === false || this.turn > 0;
    this.turn++;
    const input = await takeTurnInput(ctx, agent, this.turn, this.children.list(), takesMessages);
    this.children.forget(input.ended);
    this.setAliases(input.aliases);
    this.add(...newsMessages(input));
    await this.limitContext();
    await transcript.save();
    const changes = await agent.prepareTurn?.({ turn: this.turn, messages: [...this.messages], usage: this.usage });
    const answer = await this.ask(`turn ${this.turn}`, input, changes ?? {});
    this.add(...assistantMessage(answer));
    await transcript.save();
    const calls = callsIn(answer).map((call) => ({ ...call, tool: input.aliases[call.alias] ?? call.alias }));
    if (calls.length === 0) this.steps.push(stepOf(answer, [], []));
    return { answer, calls };
  }

  private async ask(name: string, { tools, aliases }: TurnInput, changes: TurnChanges): Promise<StoredAnswer> {
    const { agent } = this;
    const shown = changes.tools === undefined ? tools : tools.filter((tool) => changes.tools?.includes(tool));
    const answer = await this.requests.ask({
      name,
      messages: this.messages,
      system: changes.system ?? agent.system,
      tools: { shown, aliases },
      toolChoice: changes.toolChoice ?? agent.toolChoice,
      providerOptions: changes.providerOptions ?? agent.providerOptions,
      temperature: changes.temperature ?? agent.temperature,
      isStructured: agent.output !== undefined,
    });
    this.count(answer);
    return answer;
  }

  /** The object of the last answer, mended in one more turn where it does not fit. Throws INVALID_OUTPUT. */
  private async objectIn(text: string): Promise<JsonValue> {
    const { agent, ctx } = this;
    const { output } = agent;
    if (output === undefined) return null;
    const first = await parseOutput(output, text);
    if ('object' in first) return first.object;
    this.add(repairMessage(first.problem));
    this.turn++;
    const { system, providerOptions, temperature } = agent;
    const request = { messages: this.messages, system, providerOptions, temperature, isStructured: true };
    const answer = await this.requests.ask({ name: `turn ${this.turn}`, ...request });
    this.count(answer);
    this.add(...assistantMessage(answer));
    const second = await parseOutput(output, textIn(answer));
    if ('object' in second) return second.object;
    throw invalidOutput(ctx.pid, second.problem, textIn(answer));
  }

  private async limitContext(): Promise<void> {
    const { agent, turn } = this;
    if (agent.context === undefined) return;
    const { messages, leftOut } = await limitContext(
      this.messages,
      agent.context,
      turn,
      agent.countTokens,
      (...asked) => this.summarize(...asked),
    );
    this.messages = messages;
    if (leftOut.length > 0) this.transcript.leaveOut(leftOut);
  }

  private async summarize(messages: readonly ModelMessage[], tokensMax: number): Promise<string> {
    const request = { messages: [userMessage(summaryRequest(messages, tokensMax))] };
    const answer = await this.requests.ask({ name: `summary before turn ${this.turn}`, ...request });
    this.usage = sumUsage(this.usage, answer.charged);
    return textIn(answer);
  }

  /** Messages of the conversation, for the next turn, the transcript and the size of the journal. */
  private add(...messages: readonly ModelMessage[]): void {
    this.messages.push(...messages);
    this.transcript.add(...messages);
    this.journal.add(messages);
  }

  private count(answer: StoredAnswer): void {
    this.usage = sumUsage(this.usage, answer.charged);
    const text = textIn(answer);
    if (text !== '') this.said = this.said === '' ? text : `${this.said}\n\n${text}`;
  }

  private async isStopped(): Promise<boolean> {
    const { stopWhen } = this.agent;
    const conditions = [stopWhen ?? []].flat();
    const options = { steps: this.steps } as object as Parameters<StopCondition<ToolSet>>[0];
    const met = await Promise.all(conditions.map((condition) => condition(options)));
    return met.some(Boolean);
  }
}

/** A turn in the form of the SDK, for its conditions. */
function stepOf(answer: StoredAnswer, calls: readonly NamedCall[], results: readonly object[]): object {
  const toolCalls = calls.map(({ id, alias, input }) => ({
    type: 'tool-call',
    toolCallId: id,
    toolName: alias,
    input,
  }));
  const { usage, content, finishReason } = answer;
  return {
    text: textIn(answer),
    content,
    toolCalls,
    toolResults: results,
    finishReason: finishReasonOf(finishReason),
    usage,
  };
}

function difference(after: ModelUsage, before: ModelUsage): ModelUsage {
  return {
    inputTokens: after.inputTokens - before.inputTokens,
    cachedInputTokens: after.cachedInputTokens - before.cachedInputTokens,
    outputTokens: after.outputTokens - before.outputTokens,
    totalTokens: after.totalTokens - before.totalTokens,
  };
}
