import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineImage, externalImage, isKernelError, type Kernel, type Pid, type Syscalls } from '../../src/index.js';
import { eventually } from '../support/eventually.js';
import { newStore, openKernel, refusal } from '../support/kernel.js';
import { kernelFixture } from '../support/kernel-fixture.js';

/** The output of this schema is no JSON, and has a default. */
const order = z.object({ due: z.string().transform((text) => new Date(text)), count: z.number().default(1) });
const due = '2026-01-02T03:04:05.000Z';
/** A caller without types may give anything. */
const notSchemas = [7, 'object', {}, { n: 'number' }, { type: 'strng' }, () => true, null] as never[];

const desk = externalImage({ name: 'desk' });

/** A body that notes what it sees in each of its runs, then waits for the signal `end`. */
function noting(look: (ctx: Syscalls, note: (seen: unknown) => void) => Promise<void>) {
  const runs: unknown[][] = [];
  const image = defineImage({
    name: 'noting',
    run: async (ctx) => {
      const seen: unknown[] = [];
      runs.push(seen);
      await look(ctx, (value) => seen.push(value));
      seen.push('done');
      await ctx.waitSignal('end');
      return null;
    },
  });
  return { runs, image };
}

/** Runs the body to its wait for `end`, on one kernel and then again on another one. */
async function runTwice(
  { runs, image }: ReturnType<typeof noting>,
  prepare: (kernel: Kernel, root: Pid, pid: Pid) => Promise<void>,
): Promise<{ first: unknown[]; second: unknown[]; pid: Pid; root: Pid }> {
  const store = await newStore();
  const kernel = await openKernel({ store, images: [image] });
  const root = await kernel.processes.spawn({});
  const pid = await kernel.processes.spawnChild(root, { image: 'noting' });
  await prepare(kernel, root, pid);
  await eventually(() => expect(runs[0]).toContain('done'));
  await kernel.shutdown();
  const other = await openKernel({ store, images: [image] });
  await eventually(() => expect(runs[1]).toContain('done'));
  await other.processes.signal(pid, 'user.end');
  expect((await other.processes.result(pid)).outcome.kind).toBe('completed');
  return { first: runs[0] ?? [], second: runs[1] ?? [], pid, root };
}

/** What is told of a refusal, for a comparison between runs. */
function told(error: unknown): unknown {
  if (!isKernelError(error, 'INVALID_INPUT')) throw error;
  return { code: error.code, message: error.message, facts: error.facts };
}

describe('receive with a schema', () => {
  it('gives a body the output of the schema, and the same to a rerun', async () => {
    const body = noting(async (ctx, note) => note((await ctx.receive({ schema: order })).body));
    const { first, second } = await runTwice(body, async (kernel, root, pid) => kernel.as(root).send(pid, { due }));
    expect(first).toEqual([{ due: new Date(due), count: 1 }, 'done']);
    expect(second).toEqual(first);
  });

  it('throws what does not fit after it was taken, and the same in a rerun; the next message is not touched', async () => {
    const body = noting(async (ctx, note) => {
      await ctx.receive({ schema: order, timeoutMs: 60_000 }).catch((error: unknown) => note(told(error)));
      note((await ctx.receive()).body);
    });
    const { first, second, root } = await runTwice(body, async (kernel, sender, pid) => {
      await kernel.as(sender).send(pid, { due, count: 'two' });
      await kernel.as(sender).send(pid, 'next');
    });
    expect(first).toEqual([
      expect.objectContaining({
        code: 'INVALID_INPUT',
        facts: expect.objectContaining({ path: 'message.body.count', from: root, kind: 'message' }),
      }),
      'next',
      'done',
    ]);
    expect(first[0]).toHaveProperty('facts.message');
    expect(second).toEqual(first);
  });

  it('refuses a thing that is no schema before anything is taken', async () => {
    const body = noting(async (ctx, note) => {
      for (const schema of notSchemas)
        await ctx.receive({ schema: schema }).catch((error: unknown) => note(told(error)));
      note((await ctx.receive({ schema: v.string() })).body);
    });
    const { first, second } = await runTwice(body, async (kernel, root, pid) =>
      kernel.as(root).send(pid, 'still here'),
    );
    const refusals = notSchemas.map(() => expect.objectContaining({ code: 'INVALID_INPUT' }));
    expect(first).toEqual([...refusals, 'still here', 'done']);
    for (const one of first.slice(0, -2))
      expect(one).toHaveProperty('facts.path', expect.stringMatching(/^options\.schema/));
    expect(second).toEqual(first);
  });

  it('works on the face of a process: output, misfit, and no schema', async () => {
    const { kernel, refused } = await kernelFixture({ images: [desk] });
    const root = await kernel.processes.spawn({});
    const pid = await kernel.processes.spawnChild(root, { image: 'desk' });
    const face = kernel.as(pid);
    for (const body of [{ due }, { due: 7 }, [1, 2]]) await kernel.as(root).send(pid, body);
    for (const schema of notSchemas)
      expect(await refused(() => face.receive({ schema: schema, timeoutMs: 0 }))).toMatchObject({
        code: 'INVALID_INPUT',
      });
    expect((await face.receive({ schema: order, from: root })).body).toEqual({ due: new Date(due), count: 1 });
    expect(await refusal(face.receive({ schema: order, timeoutMs: 0 }))).toMatchObject({
      code: 'INVALID_INPUT',
      facts: { path: 'message.body.due', from: root },
    });
    const numbers = { type: 'array', items: { type: 'number' } } as const;
    const { body } = await face.receive({ schema: numbers });
    expect(body.reduce((sum, each) => sum + each, 0)).toBe(3);
    expect(await refusal(face.receive({ schema: order, timeoutMs: 0 }))).toMatchObject({ code: 'WAIT_TIMEOUT' });
  });

  it('refuses unknown options beside the schema', async () => {
    const { kernel, refused } = await kernelFixture({ images: [desk] });
    const pid = await kernel.processes.spawn({ image: 'desk' });
    const options = { schema: order, timeout: 5 };
    expect(await refused(() => kernel.as(pid).receive(options))).toMatchObject({ facts: { unknown: ['timeout'] } });
  });
});

describe('waitSignal with a schema', () => {
  it('gives the output of the schema, throws what does not fit, and does the same in a rerun', async () => {
    const body = noting(async (ctx, note) => {
      const schema = type({ n: 'number', 'text?': 'string' });
      note((await ctx.waitSignal('go', { schema })).n + 1);
      await ctx.waitSignal('user.go', { schema, timeoutMs: 60_000 }).catch((error: unknown) => note(told(error)));
      note(await ctx.waitSignal('go', { schema: order }));
      for (const wrong of notSchemas)
        await ctx.waitSignal('go', { schema: wrong }).catch((error: unknown) => note(told(error)));
      note(await ctx.waitSignal('go'));
    });
    const { first, second, pid } = await runTwice(body, async (kernel, _, target) => {
      for (const payload of [{ n: 1 }, { n: 'one' }, { due }, 'last'])
        await kernel.processes.signal(target, 'user.go', { payload });
    });
    expect(first).toEqual([
      2,
      expect.objectContaining({
        code: 'INVALID_INPUT',
        facts: expect.objectContaining({ path: 'signal.payload.n', pid, signal: 'user.go' }),
      }),
      { due: new Date(due), count: 1 },
      ...notSchemas.map(() => expect.objectContaining({ code: 'INVALID_INPUT' })),
      'last',
      'done',
    ]);
    expect(second).toEqual(first);
  });
});

describe('memory.read with a schema', () => {
  it('gives the output of the schema on every face, and throws what does not fit', async () => {
    const { kernel, refused } = await kernelFixture();
    const pid = await kernel.processes.spawn({});
    const { memory } = kernel.as(pid);
    const good = await memory.create({ type: 'artifact', payload: { due }, immutable: false });
    const bad = await memory.create({ type: 'artifact', payload: { due: 7 } });
    for (const read of [
      await memory.read(good, { schema: order }),
      await kernel.memory.read(pid, good, { schema: order }),
      await memory.read(good, { schema: order, version: 1 }),
    ]) {
      expect(read.payload.due.getTime()).toBe(Date.parse(due));
      expect(read).toMatchObject({ id: good.id, version: 1, payload: { count: 1 } });
    }
    expect(await refused(() => memory.read(bad, { schema: order }))).toMatchObject({
      code: 'INVALID_INPUT',
      facts: { path: 'object.payload.due', object: bad.id, version: 1 },
    });
    for (const schema of notSchemas)
      expect(await refused(() => kernel.memory.read(pid, good, { schema: schema }))).toMatchObject({
        code: 'INVALID_INPUT',
      });
    expect(await refused(() => memory.read('o_none', { schema: order }))).toMatchObject({ code: 'NO_SUCH_OBJECT' });
    expect((await memory.read(good)).payload).toEqual({ due });
  });

  it('gives a body what it reads, validated', async () => {
    const body = noting(async (ctx, note) => {
      const text = await ctx.memory.create({ type: 'artifact', payload: 'seven' });
      note(
        (
          await ctx.memory.read(text, {
            schema: v.pipe(
              v.string(),
              v.transform((value) => value.length),
            ),
          })
        ).payload,
      );
      await ctx.memory.read(text, { schema: { type: 'number' } }).catch((error: unknown) => note(told(error)));
    });
    const { first, second } = await runTwice(body, async () => undefined);
    expect(first).toEqual([5, expect.objectContaining({ code: 'INVALID_INPUT' }), 'done']);
    expect(second).toEqual(first);
  });
});
