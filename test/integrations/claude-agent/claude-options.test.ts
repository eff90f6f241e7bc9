import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type CapabilitySpec, defineTool, type Kernel, type Pid, type SpawnSpec } from '../../../src/index.js';
import { type ClaudeAdapterOptions, claudeOptions, claudeTools } from '../../../src/integrations/claude-agent/index.js';
import { eventually } from '../../support/eventually.js';
import { ClaudeSession } from '../../support/integrations/claude-session.js';
import { checkInvariants } from '../../support/invariants.js';
import { newStore, openKernel, refusal } from '../../support/kernel.js';

const callTools: CapabilitySpec = { resource: 'tool:**', rights: ['call'], delegable: true };
const callers: Pid[] = [];
const add = defineTool({
  name: 'math.add',
  description: 'Adds.',
  effect: 'pure',
  input: z.strictObject({ a: z.number(), b: z.number() }),
  run: ({ a, b }: { a: number; b: number }, { pid }) => {
    callers.push(pid);
    return a + b;
  },
});

async function startSession(spec: SpawnSpec = {}, options: ClaudeAdapterOptions = { tools: 'governed' }) {
  callers.length = 0;
  const store = await newStore();
  const kernel = await openKernel({ store, tools: [add, ...claudeTools()] });
  const pid = await kernel.processes.spawn({ name: 'coder', capabilities: [callTools], ...spec });
  return { kernel, pid, store, session: new ClaudeSession(kernel, pid, options) };
}

async function outcomes(kernel: Kernel): Promise<string[]> {
  const { items } = await kernel.audit.list({ action: 'tool.call' });
  return items.map(({ outcome, code }) => (outcome === 'refused' || outcome === 'unknown' ? String(code) : outcome));
}

describe('the hooks for the Claude Agent SDK', () => {
  it('block when they fail, wait long, and switch everything else off', async () => {
    const { kernel, pid } = await startSession();
    const governed = claudeOptions(kernel.as(pid), { tools: 'governed' });
    for (const matchers of Object.values(governed.hooks)) {
      expect(matchers).toMatchObject([{ onFailure: 'block', timeout: 604_800 }]);
    }
    expect(governed).toMatchObject({ strictMcpConfig: true, tools: { type: 'preset', preset: 'claude_code' } });
    expect(claudeOptions(kernel.as(pid))).toMatchObject({ tools: [], strictMcpConfig: true });
    const wrong = Promise.resolve().then(() => claudeOptions(kernel.as(pid), { tools: 'all' } as never));
    expect(await refusal(wrong)).toMatchObject({ code: 'INVALID_INPUT', facts: { path: 'options.tools' } });
  });

  it('open a call before its tool runs, and close it with its result', async () => {
    const { kernel, pid, session, store } = await startSession();
    const { decision, id } = await session.before('Bash', { command: 'ls' });
    expect(decision).toBe('allow');
    expect(await outcomes(kernel)).toEqual(['intent']);
    await session.fire('PostToolUse', { tool_use_id: id, tool_response: { stdout: 'a.ts' } });
    expect(await outcomes(kernel)).toEqual(['intent', 'ok']);
    const failing = await session.before('Edit', { file_path: '/a.ts' });
    await session.fire('PostToolUseFailure', { tool_use_id: failing.id, error: 'no such file' });
    expect(await outcomes(kernel)).toEqual(['intent', 'ok', 'intent', 'failed']);
    expect((await kernel.processes.budget(pid)).toolCalls.used).toBe(2);
    await checkInvariants(kernel, store);
  });

  it('deny with a reason that the model reads: no authority, a constraint, an unknown tool, a budget', async () => {
    const onlyList: CapabilitySpec = {
      resource: 'tool:claude/Bash',
      rights: ['call'],
      constraints: { command: { prefix: 'ls' } },
    };
    const { kernel, session } = await startSession({ capabilities: [onlyList], budget: { toolCalls: 1 } });
    const reasons = [
      await session.before('Write', { file_path: '/a' }),
      await session.before('Bash', { command: 'rm -r /' }),
      await session.before('Fly', {}),
    ];
    expect(reasons.map(({ decision }) => decision)).toEqual(['deny', 'deny', 'deny']);
    expect(JSON.parse(reasons[0]?.reason ?? '')).toMatchObject({
      error: { code: 'CAPABILITY_DENIED', missing: { right: 'call', resource: 'tool:claude/Write' } },
    });
    expect(reasons[1]?.reason).toContain('CAPABILITY_DENIED');
    expect(reasons[2]?.reason).toContain('NO_SUCH_TOOL');
    const { id } = await session.before('Bash', { command: 'ls' });
    await session.fire('PostToolUse', { tool_use_id: id, tool_response: '' });
    expect((await session.before('Bash', { command: 'ls' })).reason).toContain('BUDGET_EXCEEDED');
    expect((await outcomes(kernel)).filter((outcome) => outcome === 'ok')).toHaveLength(1);
  });

  it('wait for the answer of a person', async () => {
    const { kernel, pid, session } = await startSession();
    await kernel.capabilities.ask(pid, { resource: 'tool:claude/Bash', rights: ['call'] });
    for (const [answer, expected] of [
      ['once', 'allow'],
      ['deny', 'deny'],
    ] as const) {
      const asked = session.before('Bash', { command: 'ls' });
      await eventually(async () => expect(await kernel.approvals.list({ status: 'pending' })).toHaveLength(1));
      const [approval] = await kernel.approvals.list({ status: 'pending' });
      await kernel.approvals.answer(approval?.id ?? '', { decision: answer, by: 'ann' });
      expect((await asked).decision).toBe(expected);
    }
  });

  it('end the session when the process is stopped in the middle of a call, and let nothing more through', async () => {
    const { kernel, pid, session, store } = await startSession();
    const { id } = await session.before('Bash', { command: 'sleep 100' });
    await kernel.processes.kill(pid);
    await eventually(async () => expect((await outcomes(kernel)).length).toBe(2));
    expect(await session.fire('PostToolUse', { tool_use_id: id, tool_response: 'done' })).toMatchObject({
      continue: false,
    });
    expect(await session.before('Bash', { command: 'ls' })).toMatchObject({ decision: 'deny', goesOn: false });
    await checkInvariants(kernel, store);
  });

  it('throw what is no refusal, so that the SDK blocks the call', async () => {
    const { kernel, pid } = await startSession();
    const face = kernel.as(pid);
    const broken = { ...face, pid, tools: { open: () => Promise.reject(new Error('the adapter is broken')) } };
    const { hooks } = claudeOptions(broken as never, { tools: 'governed' });
    const input = { hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_input: {}, tool_use_id: '1' };
    const { signal } = new AbortController();
    await expect(hooks.PreToolUse[0]?.hooks[0]?.(input, '1', { signal })).rejects.toThrow('the adapter is broken');
  });

  it('close calls of a batch that the SDK did not run', async () => {
    const { kernel, session } = await startSession();
    const { id } = await session.before('Bash', { command: 'ls' });
    await session.fire('PostToolBatch', { tool_calls: [{ tool_use_id: id }, { tool_use_id: 'another' }] });
    expect(await outcomes(kernel)).toEqual(['intent', 'failed']);
  });

  it('give up calls that are open when the session ends: their outcome is unknown', async () => {
    const { kernel, session, store } = await startSession();
    await session.before('Bash', { command: 'sleep 100' });
    await session.fire('SessionEnd', {});
    await eventually(async () => expect(await outcomes(kernel)).toEqual(['intent', 'CANCELLED']));
    await checkInvariants(kernel, store);
  });

  it('deny tools of the SDK where only those of the kernel are on', async () => {
    const { kernel, session } = await startSession({}, {});
    expect(await session.before('Bash', { command: 'ls' })).toMatchObject({ decision: 'deny' });
    expect(await session.before('mcp__procura__math_add', {})).toMatchObject({ decision: 'allow' });
    expect(await outcomes(kernel)).toEqual([]);
  });

  it('cut results that are too long to keep', async () => {
    const { kernel, session } = await startSession();
    const { id } = await session.before('Read', { file_path: '/a' });
    expect(await session.fire('PostToolUse', { tool_use_id: id, tool_response: 'x'.repeat(3_000_000) })).toEqual({});
    expect(await outcomes(kernel)).toEqual(['intent', 'ok']);
  });
});

describe('subagents of the Claude Agent SDK', () => {
  const agent = { agent_id: 'a1', agent_type: 'reviewer' };

  it('are children that make their own calls, and end with their last message', async () => {
    const { kernel, pid, session, store } = await startSession();
    await session.fire('SubagentStart', agent);
    const [child] = await kernel.processes.children(pid);
    expect(child).toMatchObject({ name: 'reviewer', labels: { 'claude.agent': 'a1' } });
    const own = await session.before('Bash', { command: 'ls' }, agent);
    await session.fire('PostToolUse', { tool_use_id: own.id, tool_response: '', ...agent });
    const main = await session.before('Bash', { command: 'ls' });
    await session.fire('PostToolUse', { tool_use_id: main.id, tool_response: '' });
    const actors = (await kernel.audit.list({ action: 'tool.call' })).items.map(({ actor }) => actor);
    expect(actors).toEqual([child?.pid, child?.pid, pid, pid]);
    await session.fire('SubagentStop', { ...agent, last_assistant_message: 'looks fine' });
    expect(await kernel.processes.value(child?.pid ?? pid)).toBe('looks fine');
    await checkInvariants(kernel, store);
  });

  it('have only the authority that is handed to them, and are known by their first call', async () => {
    const subagent: ClaudeAdapterOptions['subagent'] = ({ type }) => ({
      delegate: type === 'reviewer' ? [{ resource: 'tool:claude/Read', rights: ['call'] }] : [],
    });
    const { kernel, pid, session } = await startSession({}, { tools: 'governed', subagent });
    expect((await session.before('Bash', { command: 'ls' }, agent)).reason).toContain('CAPABILITY_DENIED');
    expect(await session.before('Read', { file_path: '/a' }, agent)).toMatchObject({ decision: 'allow' });
    expect(await session.before('Read', { file_path: '/a' }, { agent_id: 'a2', agent_type: 'other' })).toMatchObject({
      decision: 'deny',
    });
    expect(await kernel.processes.children(pid)).toHaveLength(2);
  });

  it('are refused what they may not be spawned with, and then may do nothing', async () => {
    const { kernel, pid, session } = await startSession({ budget: { children: 0 } });
    await refusal(session.fire('SubagentStart', agent));
    expect((await session.before('Read', { file_path: '/a' }, agent)).reason).toContain('BUDGET_EXCEEDED');
    expect(await kernel.processes.children(pid)).toEqual([]);
  });
});

describe('the MCP server for the Claude Agent SDK', () => {
  it('offers the tools of the process, and calls them as whoever asks', async () => {
    const { kernel, pid, session } = await startSession({}, {});
    const request = await session.connect();
    expect(await request('initialize', { protocolVersion: '2025-06-18' })).toMatchObject({
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
    });
    const { tools } = (await request('tools/list')) as { tools: { name: string; inputSchema: object }[] };
    expect(tools.find(({ name }) => name === 'math_add')).toMatchObject({ inputSchema: { required: ['a', 'b'] } });
    expect(tools.filter(({ name }) => name.includes('claude'))).toEqual([]);
    const call = { name: 'math_add', arguments: { a: 1, b: 2 } };
    expect(await request('tools/call', call)).toEqual({ content: [{ type: 'text', text: '3' }], isError: false });
    const agent = { agent_id: 'a1', agent_type: 'reviewer' };
    const { id } = await session.before('mcp__procura__math_add', {}, agent);
    await request('tools/call', { ...call, _meta: { 'claudecode/toolUseId': id } });
    const [child] = await kernel.processes.children(pid);
    expect(callers).toEqual([pid, child?.pid]);
    // While there is a subagent, a call must say who makes it.
    expect(await request('tools/call', call)).toMatchObject({
      error: { message: expect.stringContaining('which agent') },
    });
    expect(callers).toHaveLength(2);
  });

  it('refuses with a value that the model reads, and a method that it does not have', async () => {
    const { session } = await startSession({ capabilities: [] }, {});
    const request = await session.connect();
    const refused = await request('tools/call', { name: 'math_add', arguments: { a: 1, b: 2 } });
    expect(refused).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('CAPABILITY_DENIED') }] });
    expect(await request('tools/call', { name: 'fly' })).toMatchObject({ isError: true });
    expect(await request('resources/list')).toMatchObject({ error: { code: -32_601 } });
  });
});
