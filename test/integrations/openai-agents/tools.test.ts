import { Agent, RunContext, Runner, tool } from '@openai/agents-core';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type CapabilitySpec, defineTool, type Kernel, type Pid, type SpawnSpec } from '../../../src/index.js';
import { governTools, toolsFor } from '../../../src/integrations/openai-agents/index.js';
import { eventually } from '../../support/eventually.js';
import { type AgentsTurn, resultsIn, scriptedAgentsModel } from '../../support/integrations/scripted-agents-model.js';
import { openKernel, refusal } from '../../support/kernel.js';

const callTools: CapabilitySpec = { resource: 'tool:**', rights: ['call'] };

/** A tool of the SDK that writes down each of its calls. */
function mailTool(name = 'mail') {
  const sent: unknown[] = [];
  const mail = tool({
    name,
    description: 'Sends a mail.',
    parameters: z.object({ to: z.string(), text: z.string() }),
    execute: async ({ to, text }, runContext) => {
      sent.push([to, text, runContext?.context]);
      return { sent: sent.length };
    },
  });
  return { mail, sent };
}

async function withMail(capabilities: CapabilitySpec[], spec: SpawnSpec = {}) {
  const { mail, sent } = mailTool();
  const kernel = await openKernel();
  const toolsOf = governTools(kernel, [mail], { prefix: 'post' });
  const pid = await kernel.processes.spawn({ capabilities, ...spec });
  return { kernel, pid, sent, mail, toolsOf, tools: toolsOf(kernel.as(pid)) };
}

/** Runs an agent with the tools outside of the kernel, and answers with what its model read. */
async function runAgent(tools: ReturnType<typeof mailTool>['mail'][], script: AgentsTurn[], signal?: AbortSignal) {
  const model = scriptedAgentsModel(script);
  const agent = new Agent<unknown>({ name: 'writer', model, tools });
  const options = { context: { user: 'ann' }, ...(signal === undefined ? {} : { signal }) };
  const { finalOutput } = await new Runner().run(agent, 'go', options);
  return { finalOutput, results: resultsIn(model.lastCall) };
}

const sendMail: AgentsTurn = { calls: [['mail', { to: 'bob', text: 'hi' }]] };

async function outcomes(kernel: Kernel): Promise<(string | undefined)[]> {
  const { items } = await kernel.audit.list({ action: 'tool.call' });
  return items.map(({ outcome, code }) => (outcome === 'refused' ? code : outcome));
}

describe('governed tools of the OpenAI Agents SDK', () => {
  it('run through the kernel, with the context of the SDK', async () => {
    const { kernel, pid, sent, tools } = await withMail([callTools]);
    const { finalOutput, results } = await runAgent(tools, [sendMail, 'done']);
    expect(finalOutput).toBe('done');
    expect(results).toEqual(['"{\\"sent\\":1}"']);
    expect(sent).toEqual([['bob', 'hi', { user: 'ann' }]]);
    expect(await outcomes(kernel)).toEqual(['intent', 'ok']);
    expect((await kernel.processes.budget(pid)).toolCalls.used).toBe(1);
  });

  it('are refused without authority, with a reason that the model reads', async () => {
    const { kernel, sent, tools } = await withMail([]);
    const { results } = await runAgent(tools, [sendMail, 'done']);
    expect(results[0]).toContain('CAPABILITY_DENIED');
    expect(results[0]).toContain('tool:post.mail');
    expect(sent).toEqual([]);
    expect(await outcomes(kernel)).toEqual(['CAPABILITY_DENIED']);
  });

  it('are refused for arguments that a constraint forbids, and for a budget that is used up', async () => {
    const onlyBob: CapabilitySpec = {
      resource: 'tool:post.mail',
      rights: ['call'],
      constraints: { to: { in: ['bob'] }, '*': { any: true } },
    };
    const { sent, tools } = await withMail([onlyBob], { budget: { toolCalls: 1 } });
    const toEve: AgentsTurn = { calls: [['mail', { to: 'eve', text: 'hi' }]] };
    const { results } = await runAgent(tools, [toEve, sendMail, sendMail, 'done']);
    expect(results.map((text) => /[A-Z]+_[A-Z]+/.exec(text)?.[0])).toEqual([
      'CAPABILITY_DENIED',
      undefined,
      'BUDGET_EXCEEDED',
    ]);
    expect(sent).toHaveLength(1);
  });

  it('are refused for arguments that do not fit, before the kernel takes anything for them', async () => {
    const { kernel, pid, sent, tools } = await withMail([callTools]);
    const [mail] = tools;
    const value = await mail?.invoke(new RunContext(), JSON.stringify({ to: 7 }));
    expect(value).toMatchObject({ error: { code: 'INVALID_INPUT' } });
    expect(await mail?.invoke(new RunContext(), 'to bob')).toMatchObject({ error: { code: 'INVALID_INPUT' } });
    expect(sent).toEqual([]);
    expect((await kernel.processes.budget(pid)).toolCalls.used).toBe(0);
  });

  it('wait for a person where a rule asks, and run when allowed', async () => {
    const { kernel, pid, sent, tools } = await withMail([callTools]);
    await kernel.capabilities.ask(pid, { resource: 'tool:post.mail', rights: ['call'] });
    const running = runAgent(tools, [sendMail, sendMail, 'done']);
    for (const decision of ['once', 'deny'] as const) {
      await eventually(async () => expect(await kernel.approvals.list({ status: 'pending' })).toHaveLength(1));
      const [approval] = await kernel.approvals.list({ status: 'pending' });
      await kernel.approvals.answer(approval?.id ?? '', { decision, by: 'ann' });
    }
    const { results } = await running;
    expect(sent).toHaveLength(1);
    expect(results[1]).toContain('APPROVAL_DENIED');
  });

  it('are given up when the run is, and end the run when their process is stopped', async () => {
    const kernel = await openKernel();
    let began = false;
    const slow = tool({
      name: 'slow',
      description: 'Waits.',
      errorFunction: null,
      parameters: z.object({}),
      execute: async (_args, _context, details) => {
        began = true;
        await new Promise((_, reject) =>
          details?.signal?.addEventListener('abort', () => reject(new Error('given up'))),
        );
      },
    });
    const toolsOf = governTools(kernel, [slow], { prefix: 'own' });
    const pid = await kernel.processes.spawn({ capabilities: [callTools] });
    const model = scriptedAgentsModel([{ calls: [['slow', {}]] }, 'done']);
    const running = new Runner().run(new Agent({ name: 'a', model, tools: toolsOf(kernel.as(pid)) }), 'go');
    running.catch(() => undefined);
    await eventually(() => expect(began).toBe(true));
    await kernel.processes.kill(pid);
    await expect(running).rejects.toThrow(/slow|stopped|killed|CANCELLED|process/i);
    expect(model.calls).toHaveLength(1);
    expect((await outcomes(kernel))[1]).not.toBe('ok');
  });

  it('keep what they are, and do not change the tool that they are copies of', async () => {
    const { mail, tools } = await withMail([callTools]);
    const [copy] = tools;
    const { invoke, ...rest } = copy ?? mail;
    expect(rest).toMatchObject({ type: 'function', name: 'mail', parameters: mail.parameters, strict: mail.strict });
    expect(invoke).not.toBe(mail.invoke);
  });

  it('are removed from the kernel when they are disposed of', async () => {
    const { kernel, pid, toolsOf } = await withMail([callTools]);
    expect((await kernel.as(pid).tools.list()).map(({ name }) => name)).toContain('post.mail');
    toolsOf[Symbol.dispose]();
    expect((await kernel.as(pid).tools.list()).map(({ name }) => name)).not.toContain('post.mail');
  });

  it('are refused, all of them, for an agent, for a name that is taken and for options that do not fit', async () => {
    const { kernel, mail } = await withMail([callTools]);
    const before = await toolNames(kernel);
    const agent = new Agent({ name: 'helper' }).asTool({ toolName: 'help', toolDescription: 'Helps.' });
    const { mail: letter } = mailTool('letter');
    const attempts: [Parameters<typeof governTools>[1], object][] = [
      [[letter, agent], { prefix: 'x' }],
      [[letter, mail], { prefix: 'post' }],
      [[letter], { prefix: 'no prefix' }],
      [[letter], { prefix: 'x', effects: { mail: 'pure' } }],
      [[{ name: 'letter' } as never], { prefix: 'x' }],
    ];
    for (const [tools, options] of attempts) {
      const made = Promise.resolve().then(() => governTools(kernel, tools, options as never));
      expect((await refusal(made)).code).toMatch(/^(INVALID_INPUT|CONFLICT)$/);
    }
    expect(await toolNames(kernel)).toEqual(before);
  });
});

describe('tools of the kernel for the OpenAI Agents SDK', () => {
  it('are function tools that call as the process, and refuse with a text', async () => {
    const add = defineTool({
      name: 'math.add',
      description: 'Adds.',
      effect: 'pure',
      input: z.strictObject({ a: z.number(), b: z.number() }),
      run: ({ a, b }: { a: number; b: number }) => a + b,
    });
    const kernel = await openKernel({ tools: [add] });
    const pid = await kernel.processes.spawn({ capabilities: [{ resource: 'tool:math.add', rights: ['call'] }] });
    const tools = await toolsFor(kernel.as(pid), { granted: true });
    expect(tools.map(({ name }) => name)).toEqual(['math_add']);
    const model = scriptedAgentsModel([
      { calls: [['math_add', { a: 1, b: 2 }]] },
      { calls: [['math_add', { a: 'one', b: 2 }]] },
      'done',
    ]);
    await new Runner().run(new Agent<unknown>({ name: 'a', model, tools }), 'add');
    const [sum, refused] = resultsIn(model.lastCall);
    expect(sum).toBe('"3"');
    expect(refused).toContain('INVALID_INPUT');
    expect(model.firstCall?.request.tools).toMatchObject([{ name: 'math_add', parameters: { required: ['a', 'b'] } }]);
    expect(await refusal(toolsFor(kernel.as(pid), { only: ['math_add'] }))).toMatchObject({ code: 'INVALID_INPUT' });
  });
});

async function toolNames(kernel: Kernel): Promise<string[]> {
  const pid: Pid = await kernel.processes.spawn();
  return (await kernel.as(pid).tools.list()).map(({ name }) => name);
}
