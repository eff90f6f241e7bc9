import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  type Constraints,
  defineImage,
  defineTool,
  type EditedCall,
  type Kernel,
  type KernelOptions,
  type Pid,
} from '../../src/index.js';
import { pendingApproval } from '../support/approvals.js';
import { anyCommand, commandFixture } from '../support/command-fixture.js';
import { newStore, openKernel, refusal } from '../support/kernel.js';

type Mail = { to: string; text: string };
let sent: Mail[] = [];
beforeEach(() => {
  sent = [];
});

const mail = defineTool({
  name: 'mail',
  description: 'Sends a mail.',
  effect: 'once',
  input: z.object({ to: z.string(), text: z.string().default('hello') }),
  resources: ({ to }) => (to.startsWith('file:') ? [{ right: 'read', resource: `fs:${to.slice(5)}` }] : []),
  needsApproval: ({ to }) => to !== 'nobody',
  run: (args) => {
    sent.push(args);
    return { sent: args.to };
  },
});

const friends = ['bob', 'carl', 'dora', 'nobody', 'file:secret.txt'];
const constraints: Constraints = { to: { in: friends }, text: { any: true } };
const capability = { resource: 'tool:mail', rights: ['call' as const], constraints };

const open = (options: KernelOptions = {}) => openKernel({ tools: [mail], ...options });

/** Calls the tool and has a person answer with other arguments. */
async function edited(kernel: Kernel, pid: Pid, args: object, onEdited?: (edit: EditedCall) => void) {
  const call = kernel.as(pid).tools.call('mail', { to: 'bob' }, onEdited === undefined ? {} : { onEdited });
  // The call is watched from the beginning: its refusal is told by the test.
  call.catch(() => undefined);
  const { id } = await pendingApproval(kernel, pid);
  await kernel.approvals.answer(id, { decision: 'once', by: 'ann', args: args as never });
  return { call, id };
}

describe('a held call that a person edits', () => {
  it('runs with the edited arguments, once, and the approval and the records have both hashes and who edited', async () => {
    const kernel = await open();
    const pid = await kernel.processes.spawn({ capabilities: [capability] });
    const edits: EditedCall[] = [];
    const { call, id } = await edited(kernel, pid, { to: 'carl' }, (edit) => edits.push(edit));
    expect(await call).toEqual({ sent: 'carl' });
    expect(sent).toEqual([{ to: 'carl', text: 'hello' }]);
    expect(edits).toEqual([{ args: { to: 'carl', text: 'hello' }, by: 'ann', approval: id }]);
    const { edited: change, args, by } = await kernel.approvals.get(id);
    expect([args, by]).toEqual([{ to: 'bob', text: 'hello' }, 'ann']);
    const hash = expect.stringMatching(/^[0-9a-f]{64}$/);
    expect(change).toEqual({ args: { to: 'carl' }, argsHash: hash, originalHash: hash });
    const [answer] = (await kernel.audit.list({ action: 'approval.answer' })).items;
    expect(answer).toMatchObject({
      facts: { editedHash: change?.argsHash, originalHash: change?.originalHash },
      payload: { by: 'ann', args: { to: 'carl' } },
    });
    const [intent] = (await kernel.audit.list({ action: 'tool.call', outcome: 'intent' })).items;
    expect(intent).toMatchObject({
      approval: id,
      facts: { originalHash: change?.originalHash, argsHash: hash },
      payload: { args: { to: 'carl', text: 'hello' }, editedBy: 'ann' },
    });
    expect(intent?.facts?.argsHash).not.toBe(change?.originalHash);
    // The answer was for one call: the same call asks again.
    const again = kernel.as(pid).tools.call('mail', { to: 'bob' });
    await kernel.approvals.answer((await pendingApproval(kernel, pid)).id, { decision: 'once', by: 'ann' });
    expect(await again).toEqual({ sent: 'bob' });
  });

  it('is bound by constraints, deny rules, the schema, resources and budget as any call; the answer is used up by that', async () => {
    const kernel = await open();
    const pid = await kernel.processes.spawn({ capabilities: [capability], budget: { toolCalls: 0 } });
    const expected: [object, string][] = [
      [{ to: 'enemy' }, 'CAPABILITY_DENIED'],
      [{ to: 7 }, 'INVALID_INPUT'],
      [{ to: 'file:secret.txt' }, 'CAPABILITY_DENIED'],
      [{ to: 'carl' }, 'BUDGET_EXCEEDED'],
    ];
    for (const [args, code] of expected) {
      const { call, id } = await edited(kernel, pid, args);
      expect([args, (await refusal(call)).code]).toEqual([args, code]);
      expect(await kernel.approvals.list({ pid })).toEqual([]);
      expect((await kernel.events.list({ pid, types: ['approval.used'] })).items.at(-1)?.data).toEqual({
        approval: id,
      });
    }
    await kernel.capabilities.deny(pid, { resource: 'tool:mail', rights: ['call'] });
    expect((await refusal(kernel.as(pid).tools.call('mail', { to: 'bob' }))).code).toBe('CAPABILITY_DENIED');
    expect(sent).toEqual([]);
  });

  it('is asked about again by every rule that the answer was not about', async () => {
    const kernel = await open();
    const pid = await kernel.processes.spawn({ capabilities: [capability] });
    const asking = kernel.as(pid).tools.call('mail', { to: 'bob' });
    const first = await pendingApproval(kernel, pid);
    const rule = await kernel.capabilities.ask(pid, { resource: 'tool:mail', rights: ['call'] });
    const current = await pendingApproval(kernel, pid);
    expect(current.id).toBe(first.id);
    await kernel.approvals.answer(first.id, { decision: 'once', by: 'ann', args: { to: 'carl' } });
    const second = await pendingApproval(kernel, pid);
    expect(second).toMatchObject({ args: { to: 'carl', text: 'hello' }, rules: [rule.id] });
    await kernel.approvals.answer(second.id, { decision: 'once', by: 'bea', args: { to: 'dora' } });
    // The first answer was for carl, so that the tool asks about dora; the rule does not.
    const third = await pendingApproval(kernel, pid);
    expect(third).toMatchObject({ args: { to: 'dora', text: 'hello' }, rules: ['tool:mail'] });
    await kernel.approvals.answer(third.id, { decision: 'once', by: 'ann' });
    expect(await asking).toEqual({ sent: 'dora' });
    const used = (await kernel.events.list({ pid, types: ['approval.used'] })).items.map(({ data }) => data.approval);
    expect(used.sort()).toEqual([first.id, second.id, third.id].sort());
  });

  it('needs no other approval where nothing asks about the edited arguments, and names the answer all the same', async () => {
    const kernel = await open();
    const pid = await kernel.processes.spawn({ capabilities: [capability] });
    const { call, id } = await edited(kernel, pid, { to: 'nobody' });
    expect(await call).toEqual({ sent: 'nobody' });
    const [intent] = (await kernel.audit.list({ action: 'tool.call', outcome: 'intent' })).items;
    expect(intent?.approval).toBe(id);
    expect((await kernel.events.list({ pid, types: ['approval.used'] })).items).toHaveLength(1);
  });

  it('cannot be edited by a lasting answer, a denial, or where it is no call of a tool or a command', async () => {
    const kernel = await open();
    const pid = await kernel.processes.spawn({ capabilities: [capability] });
    const asking = kernel.as(pid).tools.call('mail', { to: 'bob' });
    const { id } = await pendingApproval(kernel, pid);
    for (const decision of ['always', 'deny', 'deny-always'] as const) {
      const answer = kernel.approvals.answer(id, { decision, by: 'ann', args: { to: 'carl' } });
      expect(await refusal(answer)).toMatchObject({ code: 'INVALID_INPUT', facts: { path: 'answer.args' } });
    }
    // The same arguments are no edit.
    await kernel.approvals.answer(id, { decision: 'once', by: 'ann', args: { text: 'hello', to: 'bob' } });
    expect(await asking).toEqual({ sent: 'bob' });
    expect((await kernel.approvals.get(id)).edited).toBeUndefined();
    await kernel.capabilities.ask(pid, { resource: 'process:*', rights: ['send'] });
    const child = await kernel.processes.spawnChild(pid, {});
    const sending = kernel.as(pid).send(child, 'hi');
    const message = await pendingApproval(kernel, pid);
    expect(message.editable).toBeUndefined();
    const edit = kernel.approvals.answer(message.id, { decision: 'once', by: 'ann', args: { message: 'ho' } });
    expect(await refusal(edit)).toMatchObject({ code: 'INVALID_INPUT' });
    await kernel.approvals.answer(message.id, { decision: 'once', by: 'ann' });
    await sending;
  });
});

describe('a body whose call is edited', () => {
  const edits: EditedCall[] = [];
  const writer = defineImage({
    name: 'writer',
    run: async (ctx) => {
      const result = await ctx.tools.call('mail', { to: 'bob' }, { onEdited: (edit) => edits.push(edit) });
      await ctx.waitSignal('user.on');
      return result;
    },
  });

  it('gets the edited call also when the answer came while no program ran it, and is told of it again by a rerun', async () => {
    edits.length = 0;
    const store = await newStore();
    const first = await open({ store, images: [writer] });
    const pid = await first.processes.spawn({ image: 'writer', capabilities: [capability] });
    const { id } = await pendingApproval(first, pid);
    await first.shutdown();
    const host = await openKernel({ store, node: { executor: false } });
    await host.approvals.answer(id, { decision: 'once', by: 'ann', args: { to: 'carl' } });
    await host.shutdown();
    const second = await open({ store, images: [writer] });
    await expect.poll(async () => (await second.processes.get(pid)).wait?.kind, { timeout: 20_000 }).toBe('signal');
    expect(sent).toEqual([{ to: 'carl', text: 'hello' }]);
    await second.shutdown();
    const third = await open({ store, images: [writer] });
    await third.processes.signal(pid, 'user.on');
    expect((await third.processes.result(pid)).value).toEqual({ sent: 'carl' });
    expect(sent).toHaveLength(1);
    const edit = { args: { to: 'carl', text: 'hello' }, by: 'ann', approval: id };
    expect(edits).toEqual([edit, edit]);
  });
});

describe('an edited call that is under way when its node is given up', () => {
  it('is made again with the edited arguments, and nobody is asked again', async () => {
    const calls: [attempt: number, to: unknown][] = [];
    const store = await newStore();
    const put = defineTool({
      name: 'put',
      description: 'Puts something somewhere.',
      effect: 'idempotent',
      input: { type: 'object' },
      needsApproval: true,
      run: async ({ to }: { to?: string }, { attempt }) => {
        calls.push([attempt, to]);
        return attempt === 1 ? new Promise<never>(() => undefined) : 'put';
      },
    });
    const putter = defineImage({ name: 'putter', run: (ctx) => ctx.tools.call('put', { to: 'here' }) });
    const first = await openKernel({ store, tools: [put], images: [putter] });
    const pid = await first.processes.spawn({
      image: 'putter',
      capabilities: [{ resource: 'tool:put', rights: ['call'] }],
    });
    const { id } = await pendingApproval(first, pid);
    await first.approvals.answer(id, { decision: 'once', by: 'ann', args: { to: 'there' } });
    await expect.poll(() => calls, { timeout: 20_000 }).toEqual([[1, 'there']]);
    await first.shutdown({ graceMs: 0 });
    const second = await openKernel({ store, tools: [put], images: [putter] });
    expect((await second.processes.result(pid)).value).toBe('put');
    expect(calls).toEqual([
      [1, 'there'],
      [2, 'there'],
    ]);
    expect(await second.approvals.list({ status: 'any' })).toHaveLength(1);
    const intents = (await second.audit.list({ action: 'tool.call', outcome: 'intent' })).items;
    expect(intents.map(({ approval, facts }) => [approval, facts?.originalHash])).toEqual([
      [id, intents[0]?.facts?.originalHash],
      [id, intents[0]?.facts?.originalHash],
    ]);
  });
});

describe('a command that a person edits', () => {
  it('runs with the edited arguments, and its record has both hashes', async () => {
    const { kernel, pid } = await commandFixture({ capabilities: [anyCommand] });
    await kernel.capabilities.ask(pid, { resource: 'command:echo', rights: ['call'] });
    const running = kernel.as(pid).run({ argv: ['echo', 'one'], stdin: 'kept' });
    const approval = await pendingApproval(kernel, pid);
    expect(approval).toMatchObject({ resource: 'command:echo', editable: true });
    await kernel.approvals.answer(approval.id, { decision: 'once', by: 'ann', args: { argv: ['echo', 'two'] } });
    expect(await running).toMatchObject({ exitCode: 0, stdout: 'two\n' });
    const [intent] = (await kernel.audit.list({ action: 'command.run', outcome: 'intent' })).items;
    expect(intent).toMatchObject({
      approval: approval.id,
      facts: { originalHash: expect.any(String), argsHash: expect.any(String), editedUnder: approval.id },
      payload: { editedBy: 'ann', line: expect.stringContaining('two') },
    });
    const shown = kernel.as(pid).run({ argv: ['echo', 'three'] });
    const third = await pendingApproval(kernel, pid);
    await kernel.approvals.answer(third.id, { decision: 'once', by: 'ann', args: { argv: ['echo', 'four'] } });
    expect(await shown).toMatchObject({ stdout: 'four\n' });
    const intents = (await kernel.audit.list({ action: 'command.run', outcome: 'intent' })).items;
    expect(intents[1]?.facts).toMatchObject({ originalHash: expect.any(String), argsHash: expect.any(String) });
    const other = kernel.as(pid).run({ argv: ['echo', 'one'] });
    other.catch(() => undefined);
    const next = await pendingApproval(kernel, pid);
    await kernel.capabilities.deny(pid, { resource: 'command:rm', rights: ['call'] });
    await kernel.approvals.answer(next.id, { decision: 'once', by: 'ann', args: { argv: ['rm', '-rf', 'x'] } });
    expect(await refusal(other)).toMatchObject({ code: 'CAPABILITY_DENIED', facts: { resource: 'command:rm' } });
    expect(await kernel.processes.children(pid)).toHaveLength(2);
  });
});
