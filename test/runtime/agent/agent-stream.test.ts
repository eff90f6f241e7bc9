import { expect, it } from 'vitest';
import { defineImage, type Kernel, type Pid, type Syscalls } from '../../../src/index.js';
import { PartReader, readAll, usage } from '../../support/agent-parts.js';
import { eventually } from '../../support/eventually.js';
import { newStore, openKernel, refusal } from '../../support/kernel.js';

/** Says its words one after the other, each when it gets a message, and commits the turn then. */
async function say(ctx: Syscalls, words: readonly string[]): Promise<void> {
  const { turns } = ctx;
  turns.publish({ type: 'turn-start' });
  for (const word of words) {
    turns.publish({ type: 'text', text: word });
    await ctx.waitSignal('user.on');
  }
  await turns.commit([
    { type: 'turn-start' },
    { type: 'text', text: words.join('') },
    { type: 'turn-end', usage, finishReason: 'stop' },
  ]);
}

const speaker = defineImage({
  name: 'speaker',
  run: async (ctx) => {
    await say(ctx, ['He', 'llo']);
    await say(ctx, ['Bye']);
    return 'over';
  },
});

const next = (kernel: Kernel, pid: Pid) => kernel.processes.signal(pid, 'user.on');

it('shows text as it comes, then the rest of each turn, once', async () => {
  const kernel = await openKernel({ images: [speaker] });
  const pid = await kernel.processes.spawn({ image: 'speaker' });
  const reader = new PartReader(kernel, pid);
  await eventually(() => expect(reader.told).toEqual(['1 turn-start', '1 text He']));
  await next(kernel, pid);
  await eventually(() => expect(reader.told.slice(2)).toEqual(['1 text llo']));
  await next(kernel, pid);
  await eventually(() => expect(reader.told.slice(3)).toEqual(['1 turn-end', '2 turn-start', '2 text Bye']));
  await next(kernel, pid);
  await reader.done;
  expect(reader.told.slice(6)).toEqual(['2 turn-end', '2 end completed']);
  expect(reader.parts.find(({ type }) => type === 'turn-end')).toMatchObject({ usage, finishReason: 'stop' });
});

it('gives a late reader what is committed, then what the turn under way has said', async () => {
  const kernel = await openKernel({ images: [speaker] });
  const pid = await kernel.processes.spawn({ image: 'speaker' });
  await next(kernel, pid);
  await next(kernel, pid);
  const early = new PartReader(kernel, pid);
  await eventually(() => expect(early.told.at(-1)).toBe('2 text Bye'));
  const late = new PartReader(kernel, pid);
  const all = ['1 turn-start', '1 text Hello', '1 turn-end', '2 turn-start', '2 text Bye'];
  await eventually(() => expect(late.told).toEqual(all));
  await next(kernel, pid);
  await late.done;
  expect(late.told).toEqual([...all, '2 turn-end', '2 end completed']);
  expect(await readAll(kernel, pid)).toEqual(late.told);
});

it('gives a reader in another program whole turns', async () => {
  const store = await newStore();
  const kernel = await openKernel({ store, images: [speaker] });
  const other = await openKernel({ store, node: { executor: false, pollMs: 5 } });
  const pid = await kernel.processes.spawn({ image: 'speaker' });
  const reader = new PartReader(other, pid);
  await next(kernel, pid);
  await next(kernel, pid);
  await eventually(() => expect(reader.told).toEqual(['1 turn-start', '1 text Hello', '1 turn-end']));
  await next(kernel, pid);
  await reader.done;
  expect(reader.told.slice(3)).toEqual(['2 turn-start', '2 text Bye', '2 turn-end', '2 end completed']);
});

it('tells that a turn began anew, in memory and where the store has other words', async () => {
  const fickle = defineImage({
    name: 'fickle',
    run: async (ctx) => {
      const { turns } = ctx;
      turns.publish({ type: 'turn-start' });
      turns.publish({ type: 'text', text: 'wrong' });
      await ctx.waitSignal('user.on');
      turns.publish({ type: 'turn-start' });
      turns.publish({ type: 'text', text: 'not this' });
      await ctx.waitSignal('user.on');
      await turns.commit([{ type: 'turn-start' }, { type: 'text', text: 'right' }, { type: 'turn-end', usage }]);
    },
  });
  const kernel = await openKernel({ images: [fickle] });
  const pid = await kernel.processes.spawn({ image: 'fickle' });
  const reader = new PartReader(kernel, pid);
  await eventually(() => expect(reader.textOf(1)).toBe('wrong'));
  await next(kernel, pid);
  await eventually(() => expect(reader.textOf(1)).toBe('not this'));
  await next(kernel, pid);
  await reader.done;
  expect(reader.textOf(1)).toBe('right');
  expect(reader.told.filter((part) => part === '1 turn-start')).toHaveLength(3);
});

it('tells calls, results and questions in their order, and arguments as they come', async () => {
  const asker = defineImage({
    name: 'asker',
    run: async (ctx) => {
      const { turns } = ctx;
      turns.publish({ type: 'turn-start' });
      turns.publish({ type: 'tool-call', id: 'c1', tool: 'human.ask', delta: '{"a":' });
      turns.publish({ type: 'tool-call', id: 'c1', tool: 'human.ask', delta: '1}' });
      const call = { type: 'tool-call', id: 'c1', tool: 'human.ask', args: { a: 1 } } as const;
      await ctx.waitSignal('user.on');
      await turns.commit([{ type: 'turn-start' }, call]);
      const answer = (await ctx.ask('which?', { choices: ['red', 'blue'] })) as string;
      await turns.commit([
        { type: 'tool-result', id: 'c1', tool: 'human.ask', result: answer },
        { type: 'turn-end', usage },
      ]);
    },
  });
  const kernel = await openKernel({ images: [asker] });
  const pid = await kernel.processes.spawn({ image: 'asker' });
  const reader = new PartReader(kernel, pid);
  const pieces = () => reader.parts.flatMap((part) => (part.type === 'tool-call' ? [part.delta ?? ''] : []));
  await eventually(() => expect(pieces().join('')).toBe('{"a":1}'));
  await next(kernel, pid);
  await eventually(() => expect(reader.told.slice(-2)).toEqual(['1 tool-call c1', '1 question which?']));
  expect(reader.parts.at(-1)).toMatchObject({ choices: ['red', 'blue'], id: expect.stringMatching(/^q_/) });
  const [question] = await kernel.questions.list({ pid });
  await kernel.questions.answer(question?.id ?? '', { answer: 'red', by: 'ann' });
  await reader.done;
  expect(reader.told.slice(-3)).toEqual(['1 tool-result c1', '1 turn-end', '1 end completed']);
  expect(await readAll(kernel, pid)).toEqual([
    '1 turn-start',
    '1 tool-call c1',
    '1 question which?',
    '1 tool-result c1',
    '1 turn-end',
    '1 end completed',
  ]);
});

it('refuses what belongs to no turn, what is no part, and a stream of no process', async () => {
  const codes: string[] = [];
  const wrong = defineImage({
    name: 'wrong',
    run: async (ctx) => {
      const { turns } = ctx;
      const text = { type: 'text', text: 'x' } as const;
      codes.push((await refusal(turns.commit([text]))).code);
      codes.push((await refusal(turns.commit([text, { type: 'turn-start' }]))).code);
      codes.push((await refusal(turns.commit([{ type: 'tool-call', id: 'c', tool: 't', delta: '{' }]))).code);
      codes.push((await refusal((async () => turns.publish({ type: 'word' } as never))())).code);
    },
  });
  const kernel = await openKernel({ images: [wrong] });
  const pid = await kernel.processes.spawn({ image: 'wrong' });
  await kernel.processes.result(pid);
  expect(codes).toEqual(Array.from({ length: 4 }, () => 'INVALID_INPUT'));
  expect(await readAll(kernel, pid)).toEqual(['0 end completed']);
  expect(await refusal(readAll(kernel, 'p_none'))).toMatchObject({ code: 'NO_SUCH_PROCESS' });
});

it('a commit is on record by its hashes, whole, or not at all', async () => {
  const recorder = defineImage({
    name: 'recorder',
    run: async (ctx) => {
      for (const record of ['hash', 'full', 'none'] as const)
        await ctx.turns.commit([{ type: 'turn-start' }, { type: 'text', text: 'hi' }, { type: 'turn-end', usage }], {
          request: { prompt: 'secret' },
          record,
        });
    },
  });
  const kernel = await openKernel({ images: [recorder] });
  const pid = await kernel.processes.spawn({ image: 'recorder' });
  await kernel.processes.result(pid);
  const { items } = await kernel.audit.list({ action: 'turn.commit' });
  const [hash, full, none] = items;
  const hashes = { partsHash: expect.stringMatching(/^[0-9a-f]{64}$/), requestHash: expect.any(String) };
  expect(hash).toMatchObject({ target: pid, facts: { seq: 1, turn: 1, parts: 3, usage, ...hashes } });
  expect(hash?.payload).toBeUndefined();
  expect(full).toMatchObject({ facts: hashes, payload: { request: { prompt: 'secret' } } });
  expect(none?.facts).toEqual({ seq: 3, turn: 3, parts: 3, usage });
  expect((await kernel.processes.get(pid)).used.storedBytes).toBeGreaterThan(0);
});

it('a stream ends with its signal, and with the kernel', async () => {
  const kernel = await openKernel({ images: [speaker] });
  const pid = await kernel.processes.spawn({ image: 'speaker' });
  const stopped = new AbortController();
  const reader = new PartReader(kernel, pid, { signal: stopped.signal });
  const other = new PartReader(kernel, pid);
  await eventually(() => expect(other.told).toHaveLength(2));
  stopped.abort();
  await reader.done;
  await kernel.shutdown();
  await other.done;
  expect(other.told).toEqual(['1 turn-start', '1 text He']);
});
