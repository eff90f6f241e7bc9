import type { AgentInputItem, RunToolApprovalItem } from '@openai/agents-core';
import { type JsonValue, KernelError, type Syscalls } from '../../index.js';
import { agentAt, parseChildArgs } from './agent-path.js';
import type { AgentRunResult } from './agent-result.js';
import type { AgentSettings } from './agent-settings.js';
import { type AgentsPackage, loadAgentsPackage } from './agents-package.js';
import { bindAgent } from './bind-agent.js';
import type { AnyAgent } from './nested-runs.js';

/**
 * The body of an agent: a run of the SDK. Throws INVALID_INPUT for an agent with a tool that the kernel does not govern, what
 * the turns and tools throw that ends the run, and what the SDK throws.
 */
export async function runAgent(ctx: Syscalls, settings: AgentSettings, args: JsonValue): Promise<AgentRunResult> {
  const sdk = await loadAgentsPackage();
  const child = parseChildArgs(args);
  const path = child?.path ?? [];
  const original = await agentAt(sdk, settings.agent, path);
  const agent = await bindAgent(original, { sdk, ctx, settings, path });
  const input =
    child === undefined ? await firstInput(ctx, settings, args) : (child.input as string | AgentInputItem[]);
  try {
    return toResult(await runToEnd(sdk, ctx, settings, agent, input));
  } catch (error) {
    throw kernelErrorIn(error) ?? error;
  }
}

type RunnerOf = InstanceType<AgentsPackage['Runner']>;
type Finished = Awaited<ReturnType<typeof runToEnd>>;

/** Runs the agent, and asks a person for each tool of the SDK that needs approval. */
async function runToEnd(
  { Runner }: AgentsPackage,
  ctx: Syscalls,
  { maxTurns, context, runConfig = {} }: AgentSettings,
  agent: AnyAgent,
  input: string | AgentInputItem[],
) {
  const runner: RunnerOf = new Runner(runConfig);
  const options = { maxTurns, signal: ctx.signal, ...(context === undefined ? {} : { context: await context(ctx) }) };
  let result = await runner.run(agent, input, options);
  while (result.interruptions.length > 0) {
    for (const item of result.interruptions) {
      if (await isApproved(ctx, item)) result.state.approve(item);
      else result.state.reject(item);
    }
    result = await runner.run(agent, result.state, options);
  }
  return result;
}

async function isApproved(ctx: Syscalls, { name, arguments: args, agent }: RunToolApprovalItem): Promise<boolean> {
  const question = `May the agent ${agent.name} call ${String(name)} with ${String(args)}?`;
  return (await ctx.ask(question.slice(0, questionMax), { choices: ['approve', 'reject'] })) === 'approve';
}

const questionMax = 4_000;

/** The goal and the arguments of the process, or what the image makes of them. */
async function firstInput(
  ctx: Syscalls,
  { input }: AgentSettings,
  args: JsonValue,
): Promise<string | AgentInputItem[]> {
  if (input !== undefined) return input(ctx, args);
  const { payload } = await ctx.memory.read(ctx.goal);
  const parts = [textOf(payload), textOf(args)].filter((text) => text !== '');
  return parts.join('\n\n') || 'Begin.';
}

/** A string, and the text of `{ text }`, as it is; null and an empty object as nothing; everything else as JSON. */
function textOf(value: JsonValue): string {
  if (typeof value === 'string') return value;
  if (value === null || (typeof value === 'object' && Object.keys(value).length === 0)) return '';
  const { text, ...others } = value as { readonly text?: JsonValue };
  return typeof text === 'string' && Object.keys(others).length === 0 ? text : JSON.stringify(value);
}

function toResult({ finalOutput, lastAgent, rawResponses, runContext }: Finished): AgentRunResult {
  const { inputTokens, outputTokens, totalTokens, inputTokensDetails } = runContext.usage;
  const cached = inputTokensDetails.reduce((sum, { cached_tokens: tokens = 0 }) => sum + tokens, 0);
  const output = JSON.parse(JSON.stringify(finalOutput ?? null)) as JsonValue;
  return {
    text: typeof output === 'string' ? output : JSON.stringify(output),
    output,
    agent: lastAgent?.name ?? '',
    turns: rawResponses.length,
    usage: { inputTokens, cachedInputTokens: cached, outputTokens, totalTokens },
  };
}

/** The error of the kernel that an error of the SDK wraps: what ends the run is thrown as it is. */
function kernelErrorIn(error: unknown, depth = 0): KernelError | undefined {
  if (error instanceof KernelError) return error;
  if (!(error instanceof Error) || depth > 8) return undefined;
  const { error: inner, cause } = error as { readonly error?: unknown; readonly cause?: unknown };
  return kernelErrorIn(inner, depth + 1) ?? kernelErrorIn(cause, depth + 1);
}
