import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  type CapabilitySpec,
  defineImage,
  defineTool,
  externalTool,
  type JsonValue,
  type Kernel,
  type OpenCall,
  type Pid,
} from '../../src/index.js';
import { toolsFor } from '../../src/integrations/ai-sdk/index.js';
import { eventually } from '../support/eventually.js';
import { checkInvariants } from '../support/invariants.js';
import { newStore, openKernel, refusal } from '../support/kernel.js';

const callAll: CapabilitySpec[] = [{ resource: 'tool:**', rights: ['call'] }];
const edit = externalTool({
  name: 'editor.apply',
  description: 'Applies an edit.',
  effect: 'once',
  input: z.object({ file: z.string() }),
  resources: ({ file }) => (file === 'secret.txt' ? [{ right: 'write', resource: 'fs:secret.txt' }] : []),
});

async function withEditor(capabilities = callAll, budget = {}): Promise<{ kernel: Kernel; pid: Pid; store: string }> {
  const store = await newStore();
  const kernel = await openKernel({ store, tools: [edit] });
  return { kernel, store, pid: await kernel.processes.spawn({ capabilities, budget }) };
}

async function outcomes(kernel: Kernel): Promise<string[]> {
  const { items } = await kernel.audit.list({ action: 'tool.call' });
  return items.map(({ outcome, code }) =>
    outcome === 'intent' || code === undefined ? outcome : `${outcome} ${code}`,
  );
}

describe('an open call', () => {
  it('is on record before its work begins, and is settled with its value and its usage', async () => {
    const { kernel, pid, store } = await withEditor(callAll, { toolCalls: 1, tokens: 100 });
    const call = await kernel.as(pid).tools.open(edit, { file: 'a.ts' });
    expect(await outcomes(kernel)).toEqual(['intent']);
    expect((await kernel.processes.budget(pid)).toolCalls).toMatchObject({ reserved: 1, left: 0 });
    expect(call.settled).toBeUndefined();
    expect(await call.settle({ lines: 3 }, { tokens: 40 })).toEqual({ lines: 3 });
    expect(await outcomes(kernel)).toEqual(['intent', 'ok']);
    const budget = await kernel.processes.budget(pid);
    expect(budget.toolCalls).toMatchObject({ used: 1, reserved: 0 });
    expect(budget.tokens.used).toBe(40);
    const [intent] = (await kernel.audit.list({ action: 'tool.call' })).items;
    expect(intent?.effectId).toBe(call.id);
    expect(await refusal(kernel.as(pid).tools.open(edit, { file: 'b.ts' }))).toMatchObject({ code: 'BUDGET_EXCEEDED' });
    await checkInvariants(kernel, store);
  });

  it('is refused like any other call: arguments, authority, constraint, resource, name', async () => {
    const narrow: CapabilitySpec[] = [
      { resource: 'tool:editor.apply', rights: ['call'], constraints: { file: { prefix: 's' } } },
    ];
    const { kernel, pid } = await withEditor(narrow);
    const stranger = await kernel.processes.spawn();
    const { tools } = kernel.as(pid);
    expect(await refusal(tools.open('editor.apply', { file: 7 }))).toMatchObject({ code: 'INVALID_INPUT' });
    expect(await refusal(tools.open('editor.undo', {}))).toMatchObject({ code: 'NO_SUCH_TOOL' });
    expect(await refusal(tools.open('editor.apply', { file: 'a.ts' }))).toMatchObject({ code: 'CAPABILITY_DENIED' });
    expect(await refusal(tools.open('editor.apply', { file: 'secret.txt' }))).toMatchObject({
      code: 'CAPABILITY_DENIED',
      facts: { right: 'write' },
    });
    expect(await refusal(kernel.as(stranger).tools.open('editor.apply', { file: 's.ts' }))).toMatchObject({
      code: 'CAPABILITY_DENIED',
    });
    expect((await outcomes(kernel)).filter((outcome) => outcome === 'intent')).toEqual([]);
    await (await tools.open('editor.apply', { file: 's.ts' })).settle(null);
  });

  it('is only for external tools, and those are only opened', async () => {
    const own = defineTool({ name: 'own', description: 'Own.', effect: 'pure', input: {}, run: () => 1 });
    const kernel = await openKernel({ tools: [own, edit] });
    const pid = await kernel.processes.spawn({ capabilities: callAll });
    const { tools } = kernel.as(pid);
    expect(await refusal(tools.open('own'))).toMatchObject({ code: 'INVALID_INPUT', facts: { tool: 'own' } });
    expect(await refusal(tools.call('editor.apply', { file: 'a' }))).toMatchObject({ code: 'INVALID_INPUT' });
    const infos = await tools.list();
    expect(infos.filter(({ external }) => external === true).map(({ name }) => name)).toEqual(['editor.apply']);
    expect(
      await refusal(
        Promise.resolve().then(() => kernel.tools.register({ ...own, name: 'x', external: true } as never)),
      ),
    ).toMatchObject({ code: 'INVALID_INPUT' });
    const offered = Object.keys(await toolsFor(kernel.as(pid)));
    expect(offered).toContain('own');
    expect(offered.filter((name) => name.includes('editor'))).toEqual([]);
    expect(await outcomes(kernel)).toEqual([]);
  });

  it('stays open after a value that is no JSON or a usage that is none, and takes one end', async () => {
    const { kernel, pid } = await withEditor();
    const call = await kernel.as(pid).tools.open(edit, { file: 'a.ts' });
    expect(await refusal(call.settle((() => 1) as never))).toMatchObject({ code: 'INVALID_INPUT' });
    expect(await refusal(call.settle(1, { tokens: -1 }))).toMatchObject({ code: 'INVALID_INPUT' });
    expect(await outcomes(kernel)).toEqual(['intent']);
    await call.settle(1);
    expect(await refusal(call.settle(2))).toMatchObject({ code: 'CONFLICT' });
    expect(await refusal(call.fail(new Error('late')))).toMatchObject({ code: 'CONFLICT' });
    expect(await outcomes(kernel)).toEqual(['intent', 'ok']);
  });

  it('that fails is on record with its reason', async () => {
    const { kernel, pid } = await withEditor();
    const call = await kernel.as(pid).tools.open(edit, { file: 'a.ts' });
    await call.fail(new Error('the file is locked'));
    expect(await outcomes(kernel)).toEqual(['intent', 'failed TOOL_FAILED']);
    const second = await kernel.as(pid).tools.open(edit, { file: 'a.ts' });
    await second.fail(undefined);
    expect(await outcomes(kernel)).toHaveLength(4);
  });

  it('has an unknown outcome when its time is over', async () => {
    const { kernel, pid, store } = await withEditor();
    const call = await kernel.as(pid).tools.open(edit, { file: 'a.ts' }, { timeoutMs: 100 });
    await eventually(() => expect(call.signal.aborted).toBe(true));
    expect(await refusal(call.settle('late'))).toMatchObject({ code: 'TOOL_TIMEOUT' });
    expect(await outcomes(kernel)).toEqual(['intent', 'unknown TOOL_TIMEOUT']);
    await checkInvariants(kernel, store);
  });

  it('has an unknown outcome when its process is stopped', async () => {
    const { kernel, pid, store } = await withEditor();
    const call = await kernel.as(pid).tools.open(edit, { file: 'a.ts' });
    await kernel.processes.kill(pid);
    await eventually(async () => expect((await outcomes(kernel))[1]).toMatch(/^unknown/));
    expect(call.signal.aborted).toBe(true);
    expect((await refusal(call.settle('late'))).code).toMatch(/^(CANCELLED|PROCESS_TERMINATED)$/);
    await checkInvariants(kernel, store);
  });

  it('waits for the answer of a person where a rule asks', async () => {
    const { kernel, pid } = await withEditor();
    await kernel.capabilities.ask(pid, { resource: 'tool:editor.apply', rights: ['call'] });
    let call: OpenCall | undefined;
    const opening = kernel
      .as(pid)
      .tools.open(edit, { file: 'a.ts' })
      .then((opened) => {
        call = opened;
      });
    await eventually(async () => expect(await kernel.approvals.list()).toHaveLength(1));
    expect(call).toBeUndefined();
    const [approval] = await kernel.approvals.list();
    await kernel.approvals.answer(approval?.id ?? '', { decision: 'once', by: 'ann' });
    await opening;
    await call?.settle('done');
    expect(await outcomes(kernel)).toEqual(['intent', 'ok']);
    const denied = refusal(kernel.as(pid).tools.open(edit, { file: 'b.ts' }));
    await eventually(async () => expect(await kernel.approvals.list()).toHaveLength(1));
    const [second] = await kernel.approvals.list();
    await kernel.approvals.answer(second?.id ?? '', { decision: 'deny', by: 'ann' });
    expect(await denied).toMatchObject({ code: 'APPROVAL_DENIED' });
  });
});

describe('an open call of a body', () => {
  it('that was settled is answered from the journal when the body is run again', async () => {
    const seen: JsonValue[] = [];
    let work = 0;
    const image = defineImage({
      name: 'editor',
      retry: { attempts: 2, baseMs: 1 },
      run: async (ctx) => {
        const call = await ctx.tools.open('editor.apply', { file: 'a.ts' });
        seen.push(call.settled?.value ?? 'open');
        const value = call.settled === undefined ? await call.settle(++work) : await call.settle('ignored');
        if (ctx.attempt === 1) throw new Error('again');
        return value;
      },
    });
    const kernel = await openKernel({ tools: [edit], images: [image] });
    const pid = await kernel.processes.spawn({ image: 'editor', capabilities: callAll });
    const { value } = await kernel.processes.result(pid);
    expect(value).toBe(1);
    expect(seen).toEqual(['open', 1]);
    expect(await outcomes(kernel)).toEqual(['intent', 'ok']);
  });

  it('that the body leaves open has an unknown outcome', async () => {
    const image = defineImage({
      name: 'leaver',
      run: async (ctx) => void (await ctx.tools.open('editor.apply', { file: 'a.ts' })),
    });
    const store = await newStore();
    const kernel = await openKernel({ store, tools: [edit], images: [image] });
    const pid = await kernel.processes.spawn({ image: 'leaver', capabilities: callAll });
    await kernel.processes.result(pid);
    await eventually(async () => expect(await outcomes(kernel)).toContainEqual(expect.stringMatching(/^unknown/)));
    await checkInvariants(kernel, store);
  });
});
