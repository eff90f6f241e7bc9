import { type JsonValue, KernelError, type OpenCall } from '../../index.js';
import type { CallingFace } from '../shared/calling-face.js';
import { toJson } from '../shared/to-json.js';
import { toolErrorValue } from '../shared/tool-error-value.js';
import type { ClaudeHookInput, ClaudeHookOutput } from './sdk-types.js';
import type { ClaudeSubagent, Subagents } from './subagents.js';

/** The kernel's names of the SDK's tools begin with it. */
const toolPrefix = 'claude/';

/**
 * The hooks around each call of a tool of the SDK: a call that the kernel allows is opened before its tool runs, and closed with its
 * result. A call that is not opened does not run.
 */
export class ToolHooks {
  private readonly open = new Map<string, { readonly call: OpenCall; readonly abandoned: AbortController }>();
  /** The subagents by the calls that they make of the kernel's own tools. */
  private readonly callers = new Map<string, ClaudeSubagent>();

  /** `ownPrefix`: the names of the kernel's own tools, which decide themselves, begin with it. */
  constructor(
    private readonly subagents: Subagents,
    private readonly ownPrefix: string,
    private readonly governsTools: boolean,
  ) {}

  /** Opens the call, or denies it with a reason that the model reads. Throws what is no refusal, which blocks the call. */
  async before(input: ClaudeHookInput, signal: AbortSignal): Promise<ClaudeHookOutput> {
    const { tool_name: tool = '', tool_use_id: id = '' } = input;
    const agent = subagentOf(input);
    let face: CallingFace | undefined;
    try {
      face = await this.subagents.faceOf(agent);
      if (tool.startsWith(this.ownPrefix)) return this.allowOwn(id, agent);
      if (!this.governsTools) return deny(`The tool ${tool} is off. Use the tools that begin with ${this.ownPrefix}.`);
      const abandoned = new AbortController();
      const call = await this.openCall(face, toolPrefix + tool, input.tool_input, signal, abandoned);
      if (call.settled !== undefined)
        return deny(`It was done before. Its result: ${JSON.stringify(call.settled.value)}`);
      this.open.set(id, { call, abandoned });
      return decision('allow');
    } catch (error) {
      return refuse(face ?? (await this.subagents.faceOf(undefined)), error);
    }
  }

  /** Closes the call with its result. */
  async after({ tool_use_id: id = '', tool_response: response }: ClaudeHookInput): Promise<ClaudeHookOutput> {
    this.callers.delete(id);
    return this.close(id, (call) => settle(call, response));
  }

  /** Closes the call as failed. */
  async afterFailure({ tool_use_id: id = '', error = 'The tool failed.' }: ClaudeHookInput): Promise<ClaudeHookOutput> {
    this.callers.delete(id);
    return this.close(id, (call) => call.fail(new Error(error)));
  }

  /** Closes those of the batch that the SDK did not run, because somebody else denied them. */
  async afterBatch({ tool_calls: calls = [] }: ClaudeHookInput): Promise<ClaudeHookOutput> {
    for (const { tool_use_id: id } of calls) {
      this.callers.delete(id);
      const { continue: goesOn } = await this.close(id, (call) => call.fail(new Error('The SDK did not run it.')));
      if (goesOn === false) return stopped;
    }
    return {};
  }

  /** Gives up what was not closed: nobody will tell its outcome. */
  async afterSession(): Promise<ClaudeHookOutput> {
    for (const { abandoned } of this.open.values()) abandoned.abort();
    this.open.clear();
    return {};
  }

  /** The subagent that makes the call of a tool of the kernel; undefined for the main agent. */
  callerOf(toolUseId: string): ClaudeSubagent | undefined {
    return this.callers.get(toolUseId);
  }

  /** The hook's signal gives the call up while it waits for a person, and not afterwards. */
  private async openCall(
    face: CallingFace,
    tool: string,
    input: unknown,
    signal: AbortSignal,
    abandoned: AbortController,
  ): Promise<OpenCall> {
    const abandon = () => abandoned.abort();
    signal.addEventListener('abort', abandon, { once: true });
    if (signal.aborted) abandon();
    try {
      return await face.tools.open(tool, toJson(input ?? {}), { signal: abandoned.signal });
    } finally {
      signal.removeEventListener('abort', abandon);
    }
  }

  private allowOwn(id: string, agent: ClaudeSubagent | undefined): ClaudeHookOutput {
    if (agent !== undefined) this.callers.set(id, agent);
    return decision('allow');
  }

  private async close(id: string, end: (call: OpenCall) => Promise<unknown>): Promise<ClaudeHookOutput> {
    const call = this.open.get(id)?.call;
    if (call === undefined) return {};
    this.open.delete(id);
    try {
      await end(call);
      return {};
    } catch (error) {
      // A call whose time was over has its outcome; one whose process was stopped ends the session.
      if (error instanceof KernelError && !call.signal.aborted) return {};
      if (error instanceof KernelError && error.code === 'TOOL_TIMEOUT') return {};
      if (error instanceof KernelError) return stopped;
      throw error;
    }
  }
}

const stopped: ClaudeHookOutput = { continue: false, stopReason: 'The process of this session was stopped.' };
const resultMax = 65_536;

/** The subagent that a hook is about. */
export function subagentOf({
  agent_id: id,
  agent_type: type = 'subagent',
}: ClaudeHookInput): ClaudeSubagent | undefined {
  return id === undefined ? undefined : { id, type };
}

async function settle(call: OpenCall, response: unknown): Promise<JsonValue> {
  const text = JSON.stringify(response) ?? 'null';
  if (text.length <= resultMax) return call.settle(JSON.parse(text.toWellFormed()) as JsonValue);
  return call.settle({ cut: true, characters: text.length, text: text.slice(0, resultMax).toWellFormed() });
}

/** A refusal as a reason that the model reads; an error that ends the process ends the session. Throws any other. */
function refuse(face: CallingFace, error: unknown): ClaudeHookOutput {
  if (!(error instanceof KernelError)) throw error;
  try {
    return deny(JSON.stringify(toolErrorValue(face, error)));
  } catch {
    return { ...deny(error.message), ...stopped, stopReason: error.message };
  }
}

function deny(reason: string): ClaudeHookOutput {
  return decision('deny', reason);
}

function decision(permissionDecision: 'allow' | 'deny', reason?: string): ClaudeHookOutput {
  const why = reason === undefined ? {} : { permissionDecisionReason: reason };
  return { hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision, ...why } };
}
