import { expect, it } from 'vitest';
import { defineImage, defineTool } from '../../src/index.js';
import { historyOf, replay } from '../../src/testing/index.js';
import { eventually } from '../support/eventually.js';
import { newStore, openKernel, refusal } from '../support/kernel.js';

it('a body begins anew with its state and an empty journal, and keeps all that belongs to its process', async () => {
  const counter = defineImage({
    name: 'counter',
    run: async (ctx) => {
      const { child = '', count = 0 } = (ctx.state ?? {}) as { child?: string; count?: number };
      const own = child === '' ? await ctx.spawnChild({ image: 'base' }) : child;
      const { body } = await ctx.receive();
      await ctx.step('count', () => count + 1);
      if (body !== 'end') return ctx.renew({ child: own, count: count + 1 });
      const { effect } = await ctx.capabilities.check('call', 'tool:echo');
      return { child: own, count, children: (await ctx.children()).length, effect };
    },
  });
  const kernel = await openKernel({ images: [counter] });
  const pid = await kernel.processes.spawn({
    image: 'counter',
    capabilities: [{ resource: 'tool:echo', rights: ['call'] }],
    budget: { children: 1 },
  });
  await kernel.capabilities.ask(pid, { rights: ['call'], resource: 'tool:echo' });
  for (const message of ['one', 'two', 'end']) await kernel.processes.send(pid, message);
  const { value } = await kernel.processes.result(pid);
  expect(value).toMatchObject({ count: 2, children: 1, effect: 'ask' });
  expect((await kernel.processes.get(pid)).generation).toBe(1);
  const keys = (await kernel.processes.journal(pid, { values: true })).map(({ key, value: answer }) => [key, answer]);
  expect(keys[0]).toEqual(['state', { state: expect.objectContaining({ count: 2 }), renewals: 2 }]);
  expect(keys.map(([key]) => key)).toEqual(['state', 'receive #1', 'step count #1']);
  const { items } = await kernel.audit.list({ action: 'process.renew' });
  expect(items.map(({ facts }) => facts)).toMatchObject([
    { renewals: 1, entries: 3 },
    { renewals: 2, entries: 3 },
  ]);
  // A replay has the state of the recorded body; children and rules are not part of it.
  expect((await replay(await historyOf(kernel, pid), counter)).result).toMatchObject({ count: 2 });
});

it('gives calls of a body that began anew other keys, so that what they ask and do is not taken for done', async () => {
  const keys: string[] = [];
  const note = defineTool({
    name: 'note',
    description: 'Keeps its key.',
    effect: 'idempotent',
    input: { type: 'object' },
    run: (_args, { idempotencyKey }) => {
      keys.push(idempotencyKey);
      return null;
    },
  });
  const asker = defineImage({
    name: 'asker',
    run: async (ctx) => {
      await ctx.tools.call('note');
      const answer = (await ctx.ask('how often?')) as string;
      return ctx.state === undefined ? ctx.renew({ answer }) : [ctx.state, answer];
    },
  });
  const kernel = await openKernel({ images: [asker], tools: [note] });
  const pid = await kernel.processes.spawn({
    image: 'asker',
    capabilities: [{ resource: 'tool:note', rights: ['call'] }],
  });
  for (const answer of ['once', 'twice']) {
    const id = await eventually(async () => {
      const [question] = await kernel.questions.list({ pid });
      if (question === undefined) throw new Error('it does not ask yet');
      return question.id;
    });
    await kernel.questions.answer(id, { answer, by: 'ann' });
  }
  expect((await kernel.processes.result(pid)).value).toEqual([{ answer: 'once' }, 'twice']);
  expect(new Set(keys).size).toBe(2);
});

it('closes the questions that the former body waited for', async () => {
  const hasty = defineImage({
    name: 'hasty',
    run: async (ctx) => {
      if (ctx.state !== undefined) return 'new';
      void ctx.ask('anybody?').catch(() => undefined);
      await ctx.waitSignal('user.on');
      return ctx.renew(1);
    },
  });
  const kernel = await openKernel({ images: [hasty] });
  const pid = await kernel.processes.spawn({ image: 'hasty' });
  await eventually(async () => expect(await kernel.questions.list({ pid })).toHaveLength(1));
  await kernel.processes.signal(pid, 'user.on');
  expect((await kernel.processes.result(pid)).value).toBe('new');
  expect(await kernel.questions.list({ pid, status: 'any' })).toMatchObject([{ status: 'closed' }]);
});

it('refuses a state that is no JSON or that the budget has no room for; the body goes on and its journal stays', async () => {
  const store = await newStore();
  const refused: string[] = [];
  const stubborn = defineImage({
    name: 'stubborn',
    run: async (ctx) => {
      await ctx.step('first', () => 1);
      refused.push((await refusal(ctx.renew((() => 1) as never))).code);
      refused.push((await refusal(ctx.renew('x'.repeat(100_000)))).code);
      return 'same';
    },
  });
  const kernel = await openKernel({ store, images: [stubborn] });
  const pid = await kernel.processes.spawn({ image: 'stubborn', budget: { storedBytes: 10_000 } });
  expect((await kernel.processes.result(pid)).value).toBe('same');
  expect(refused).toEqual(['INVALID_INPUT', 'BUDGET_EXCEEDED']);
  expect((await kernel.processes.journal(pid)).map(({ key }) => key)).toEqual(['step first #1']);
});

it('refuses to begin anew while the process is being stopped', async () => {
  let code = '';
  const late = defineImage({
    name: 'late',
    run: async (ctx) => {
      await ctx.receive().catch(() => undefined);
      code = (await refusal(ctx.renew(1))).code;
    },
  });
  const kernel = await openKernel({ images: [late] });
  const pid = await kernel.processes.spawn({ image: 'late' });
  await kernel.processes.cancel(pid);
  await kernel.processes.result(pid);
  expect(code).toBe('TREE_STOPPING');
});
