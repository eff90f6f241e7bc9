import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  defineImage,
  defineSteps,
  type Image,
  type ImageSpec,
  type JsonValue,
  type Kernel,
  type KernelError,
  type KernelEvent,
  type Pid,
  type Syscalls,
} from '../../src/index.js';
import { RunEntryRepository } from '../../src/kernel/process/run-entry-repository.js';
import { newStore, openKernel, refusal } from '../support/kernel.js';
import { FailingRepositories } from '../support/storage/failing-repositories.js';
import { runsUnitsOnce } from '../support/store-modes.js';

const pageRead = z.object({ page: z.number(), title: z.string().default('none') });

function reader(run: (ctx: Syscalls) => unknown, events: ImageSpec['events'] = { 'page.read': pageRead }): Image {
  return defineImage({ name: 'reader', events, run: async (ctx) => (await run(ctx)) as JsonValue });
}

async function start(image: Image, budget = {}): Promise<{ kernel: Kernel; pid: Pid }> {
  const kernel = await openKernel({ images: [image] });
  return { kernel, pid: await kernel.processes.spawn({ image: image.name, budget }) };
}

async function userEvents(kernel: Kernel): Promise<KernelEvent[]> {
  return (await kernel.events.list({ limit: 1_000 })).items.filter(({ type }) => type.startsWith('user.'));
}

/** The code of the error by which `call` is rejected, inside a body. */
async function codeOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'none',
    (error: KernelError) => error.code,
  );
}

describe('ctx.emit', () => {
  it('stores an event of the process as user.NAME, with the output of its schema', async () => {
    const { kernel, pid } = await start(reader((ctx) => ctx.emit('page.read', { page: 1 })));
    expect(await kernel.processes.result(pid)).toMatchObject({ status: 'exited' });
    expect(await userEvents(kernel)).toMatchObject([
      { type: 'user.page.read', pid, root: pid, node: kernel.nodeId, data: { page: 1, title: 'none' } },
    ]);
    const [record] = (await kernel.audit.list({ action: 'event.emit' })).items;
    expect(record).toMatchObject({ actor: pid, target: pid, outcome: 'ok', facts: { event: 'user.page.read' } });
    expect(record).not.toHaveProperty('payload');
  });

  it('is listed, streamed and heard like other events, filtered by type, process and tree', async () => {
    const image = reader(async (ctx) => {
      await ctx.receive();
      await ctx.emit('page.read', { page: 1 });
    });
    const kernel = await openKernel({ images: [image] });
    const heard: [string, number][] = [];
    kernel.events.on('user.page.read', ({ type, data }) => {
      heard.push([type, (data as { page: number }).page]);
    });
    kernel.events.on('user.other', () => heard.push(['other', 0]));
    const root = await kernel.processes.spawn({});
    const other = await kernel.processes.spawn({});
    const pid = await kernel.processes.spawnChild(root, { image: 'reader' });
    const streamed = (async () => {
      for await (const event of kernel.events.stream({ types: ['user.page.read'], tree: root })) return event;
      return undefined;
    })();
    await kernel.as(root).send(pid, null);
    await kernel.processes.result(pid);
    expect(heard).toEqual([['user.page.read', 1]]);
    const [event] = await userEvents(kernel);
    expect(await streamed).toEqual(event);
    const types = ['user.page.read' as const];
    const listed = async (filter: object) => (await kernel.events.list({ types, ...filter })).items.length;
    expect([await listed({ pid }), await listed({ tree: root })]).toEqual([1, 1]);
    expect([await listed({ pid: root }), await listed({ tree: other })]).toEqual([0, 0]);
    expect((await kernel.events.list({ types: ['user.never.emitted'] })).items).toEqual([]);
  });

  it('does not emit again when the body is run again, and goes on after a restart', async () => {
    const store = await newStore();
    const image = (hold: Promise<unknown>) =>
      reader(async (ctx) => {
        await ctx.emit('page.read', { page: 1 });
        await hold;
        await ctx.emit('page.read', { page: 2 });
      });
    const kernel = await openKernel({ store, images: [image(new Promise(() => undefined))] });
    const emitted = new Promise<void>((resolve) => {
      kernel.events.on('user.page.read', () => resolve());
    });
    const pid = await kernel.processes.spawn({ image: 'reader' });
    await emitted;
    await kernel.shutdown({ graceMs: 0 });
    const again = await openKernel({ store, images: [image(Promise.resolve())] });
    await again.processes.result(pid);
    expect((await userEvents(again)).map(({ data }) => (data as { page: number }).page)).toEqual([1, 2]);
  });

  it.skipIf(!runsUnitsOnce)(
    'is in one commit with the journal: where the entry fails, there is no event, and nothing is charged',
    async () => {
      const failing = new FailingRepositories();
      const image = reader(async (ctx) => {
        const before = (await ctx.budget()).storedBytes.used;
        failing.arm(1, 'after', RunEntryRepository);
        const code = await codeOf(ctx.emit('page.read', { page: 1 }));
        failing.disarm();
        return [code, (await ctx.budget()).storedBytes.used - before];
      });
      const kernel = await openKernel({ images: [image], modules: [failing.module()] });
      const pid = await kernel.processes.spawn({ image: 'reader' });
      const { value } = await kernel.processes.result(pid);
      expect([failing.failed, value]).toEqual([expect.stringContaining('put'), [expect.stringContaining('STORE'), 0]]);
      expect(await userEvents(kernel)).toEqual([]);
    },
  );

  it('refuses what is not declared and what does not fit, and no event is stored', async () => {
    const { kernel, pid } = await start(
      reader(
        async (ctx) => [
          await codeOf(ctx.emit('page.written', { page: 1 })),
          await codeOf(ctx.emit('user.page.read', { page: 1 })),
          await codeOf(ctx.emit('toString', {})),
          await codeOf(ctx.emit(7 as never, {})),
          await codeOf(ctx.emit(Object.create(null) as never, {})),
          await codeOf(ctx.emit('page.read', { page: 'one' })),
          await codeOf(ctx.emit('page.read', (() => 1) as never)),
          await codeOf(ctx.emit('page.read', [] as never)),
          await codeOf(ctx.emit('count', 1 as never)),
        ],
        { 'page.read': pageRead, count: z.number() },
      ),
      { storedBytes: 10_000 },
    );
    const { value } = await kernel.processes.result(pid);
    expect(value).toEqual(Array(9).fill('INVALID_INPUT'));
    expect(await userEvents(kernel)).toEqual([]);
    const silent = reader(async (ctx) => codeOf(ctx.emit('page.read', {})), undefined);
    const other = await start({ ...silent, name: 'silent', events: {} });
    expect((await other.kernel.processes.result(other.pid)).value).toBe('INVALID_INPUT');
  });

  it('takes at most 16 KiB of JSON, counted after the schema', async () => {
    const grows = z.object({ text: z.string() }).transform(({ text }) => ({ text: `${text}+` }));
    const bytes = 16 * 1024;
    const { kernel, pid } = await start(
      reader(
        async (ctx) => [
          await codeOf(ctx.emit('grown', { text: 'x'.repeat(bytes - 12) })),
          await codeOf(ctx.emit('grown', { text: 'x'.repeat(bytes - 11) })),
        ],
        { grown: grows },
      ),
    );
    expect((await kernel.processes.result(pid)).value).toEqual(['none', 'INVALID_INPUT']);
    expect((await userEvents(kernel)).map(({ data }) => JSON.stringify(data).length)).toEqual([bytes]);
  });

  it('is charged to storedBytes, and refused when they are used up', async () => {
    const data = { page: 1, title: 'x'.repeat(500) };
    const image = reader(async (ctx) => {
      const before = (await ctx.budget()).storedBytes.used;
      await ctx.emit('page.read', data);
      const charged = (await ctx.budget()).storedBytes.used - before;
      return [charged, await codeOf(ctx.emit('page.read', data))];
    });
    const { kernel, pid } = await start(image, { storedBytes: 1_000 });
    const { value } = await kernel.processes.result(pid);
    expect(value).toEqual([JSON.stringify(data).length, 'BUDGET_EXCEEDED']);
    expect(await userEvents(kernel)).toHaveLength(1);
  });

  it('works in the steps of an image, and once for a step that is tried again', async () => {
    let attempts = 0;
    const image = defineSteps({
      name: 'steps',
      events: { tick: { properties: { n: { type: 'integer' } } } },
      steps: [
        {
          name: 'one',
          retry: { attempts: 2, baseMs: 1 },
          run: async (ctx) => {
            await ctx.emit('tick', { n: 1 });
            attempts++;
            if (attempts === 1) throw new Error('once more');
            return null;
          },
        },
      ],
    });
    const { kernel, pid } = await start(image);
    expect(await kernel.processes.result(pid)).toMatchObject({ status: 'exited' });
    expect(attempts).toBe(2);
    expect((await userEvents(kernel)).map(({ type, data }) => [type, data])).toEqual([['user.tick', { n: 1 }]]);
  });

  it('keeps what the schema answered with, whatever the body does to its object meanwhile', async () => {
    const { kernel, pid } = await start(
      reader(async (ctx) => {
        const data = { page: 1 };
        const emitting = ctx.emit('page.read', data);
        data.page = 2;
        await emitting;
      }),
    );
    await kernel.processes.result(pid);
    expect(await userEvents(kernel)).toMatchObject([{ data: { page: 1 } }]);
  });

  it('refuses images whose events are none', async () => {
    const run = async () => null;
    const wrong: [unknown, string][] = [
      [{ 'a b': pageRead }, 'image.events'],
      [{ '': pageRead }, 'image.events'],
      [{ tick: 'number' }, 'image.events.tick'],
      [{ tick: { n: 'number' } }, 'image.events.tick'],
      ['tick', 'image.events'],
    ];
    for (const [events, path] of wrong) {
      const image = defineImage({ name: 'wrong', events: events as never, run });
      const refused = await refusal(openKernel({ images: [image] }));
      expect(refused, JSON.stringify(events)).toMatchObject({ code: 'INVALID_INPUT' });
      expect((refused.facts as { path: string }).path).toMatch(path);
    }
  });
});
