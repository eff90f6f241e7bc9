import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { CapabilitySpec, SpawnSpec } from '../../../src/index.js';
import { governTools } from '../../../src/integrations/mastra/index.js';
import { eventually } from '../../support/eventually.js';
import { openKernel, refusal } from '../../support/kernel.js';

/** The form of Mastra's tools: members of the object, and others of its class. */
class Tool {
  readonly description = 'Sends a mail.';
  readonly inputSchema = z.object({ to: z.string(), text: z.string() });
  readonly sent: unknown[] = [];

  constructor(readonly id = 'mail') {}

  get isTool(): boolean {
    return true;
  }

  execute = async (input: { to: string; text: string }, context?: Context): Promise<unknown> => {
    this.sent.push([input.to, input.text, context?.user]);
    if (input.text === 'wait')
      await new Promise((_, reject) => context?.abortSignal?.addEventListener('abort', reject));
    return { sent: this.sent.length };
  };

  toModelOutput = (output: { sent: number }) => ({ type: 'text', value: `${output.sent} sent` });
}

interface Context {
  readonly user: string;
  readonly abortSignal?: AbortSignal;
}

const callTools: CapabilitySpec = { resource: 'tool:**', rights: ['call'] };
const mail = { to: 'bob', text: 'hi' };

async function given(spec: SpawnSpec) {
  const kernel = await openKernel();
  const tool = new Tool();
  const toolsOf = governTools(kernel, { send: tool }, { prefix: 'post' });
  const pid = await kernel.processes.spawn(spec);
  return { kernel, pid, tool, toolsOf, send: toolsOf(kernel.as(pid)).send };
}

describe('governed tools of Mastra', () => {
  it('run through the kernel with their context, and stay of their class', async () => {
    const { kernel, pid, tool, send } = await given({ capabilities: [callTools] });
    expect(await send.execute(mail, { user: 'ann' })).toEqual({ sent: 1 });
    expect(tool.sent).toEqual([['bob', 'hi', 'ann']]);
    expect(send).toBeInstanceOf(Tool);
    expect(send).toMatchObject({ id: 'mail', isTool: true, inputSchema: tool.inputSchema });
    expect(send.toModelOutput({ sent: 1 })).toEqual({ type: 'text', value: '1 sent' });
    const records = (await kernel.audit.list({ action: 'tool.call' })).items;
    expect(records.map(({ actor, outcome }) => [actor, outcome])).toEqual([
      [pid, 'intent'],
      [pid, 'ok'],
    ]);
  });

  it('are refused with a value that the model reads: authority, constraint, arguments, budget', async () => {
    const onlyBob: CapabilitySpec = {
      resource: 'tool:post.mail',
      rights: ['call'],
      constraints: { to: { in: ['bob'] }, '*': { any: true } },
    };
    const { tool, send } = await given({ capabilities: [onlyBob], budget: { toolCalls: 1 } });
    const values = [
      await send.execute({ to: 'eve', text: 'hi' }),
      await send.execute({ to: 'bob' } as never),
      await send.execute(mail),
      await send.execute(mail),
    ];
    expect(values).toMatchObject([
      { error: { code: 'CAPABILITY_DENIED' } },
      { error: { code: 'INVALID_INPUT' } },
      { sent: 1 },
      { error: { code: 'BUDGET_EXCEEDED' } },
    ]);
    expect(tool.sent).toHaveLength(1);
    expect(send.toModelOutput(values[0] as never)).toEqual({ type: 'json', value: values[0] });
  });

  it('wait for a person, are given up with the run, and throw when their process has ended', async () => {
    const { kernel, pid, tool, send } = await given({ capabilities: [callTools] });
    await kernel.capabilities.ask(pid, { resource: 'tool:post.mail', rights: ['call'] });
    const asked = send.execute(mail);
    await eventually(async () => expect(await kernel.approvals.list({ status: 'pending' })).toHaveLength(1));
    const [approval] = await kernel.approvals.list({ status: 'pending' });
    await kernel.approvals.answer(approval?.id ?? '', { decision: 'always', scope: 'resource', by: 'ann' });
    expect(await asked).toEqual({ sent: 1 });
    const controller = new AbortController();
    const context = { user: 'ann', abortSignal: controller.signal };
    const waiting = refusal(send.execute({ to: 'bob', text: 'wait' }, context));
    await eventually(() => expect(tool.sent).toHaveLength(2));
    controller.abort();
    expect(await waiting).toMatchObject({ code: 'CANCELLED' });
    await kernel.processes.kill(pid);
    expect(await refusal(send.execute(mail))).toMatchObject({ code: 'PROCESS_TERMINATED' });
  });

  it('come in the form that they were given in, and are refused all together', async () => {
    const kernel = await openKernel();
    const pid = await kernel.processes.spawn({ capabilities: [callTools] });
    const toolsOf = governTools(kernel, [new Tool('a'), new Tool('b')], { prefix: 'own', effects: { a: 'pure' } });
    expect(toolsOf(kernel.as(pid)).map(({ id }) => id)).toEqual(['a', 'b']);
    const again = Promise.resolve().then(() => governTools(kernel, [new Tool('c'), new Tool('a')], { prefix: 'own' }));
    expect(await refusal(again)).toMatchObject({ code: 'CONFLICT' });
    toolsOf[Symbol.dispose]();
    const names = (await kernel.as(pid).tools.list()).map(({ name }) => name);
    expect(names.filter((name) => name.startsWith('own.'))).toEqual([]);
  });
});
