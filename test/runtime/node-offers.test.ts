import { describe, expect, it, vi } from 'vitest';
import {
  createKernel,
  defineImage,
  defineSteps,
  defineTool,
  externalImage,
  type Image,
  type JsonObject,
  type Kernel,
  type KernelOptions,
  type Pid,
  type Tool,
} from '../../src/index.js';
import { NodeRepository } from '../../src/kernel/node/node-repository.js';
import { eventually } from '../support/eventually.js';
import { newStore, openKernel, refusal } from '../support/kernel.js';
import { nodesIn } from '../support/node-rows.js';
import { runsUnitsOnce } from '../support/store-modes.js';

const tool = (name: string): Tool =>
  defineTool({ name, description: 'A tool.', input: { type: 'object' }, effect: 'pure', run: async () => name });
const image = (name: string, tools?: string[]): Image =>
  defineImage({ name, ...(tools === undefined ? {} : { tools }), run: async (ctx) => ctx.step('done', () => name) });

interface Offers {
  images: Record<string, { build: string; tools: string[] }>;
  tools: string[];
  queues: string[];
}

async function offersIn(store: string, kernel: Kernel): Promise<Offers> {
  const row = (await nodesIn(store).get(kernel.nodeId)) as unknown as { offers: string };
  return JSON.parse(row.offers);
}

/** A kernel that only looks. */
const watcher = (store: string, options: KernelOptions = {}) =>
  openKernel({ store, node: { executor: false, pollMs: 10 }, ...options });

const waitOf = async (kernel: Kernel, pid: Pid) => (await kernel.processes.get(pid)).wait;

describe('a node claims', () => {
  it('a process only when it has every tool that its image names', async () => {
    const store = await newStore();
    const kernel = await openKernel({ store, images: [image('worker', ['hammer', 'saw']), image('other')] });
    const pid = await kernel.processes.spawn({ image: 'worker' });
    const free = await kernel.processes.spawn({ image: 'other' });
    expect((await kernel.processes.result(free)).value).toBe('other');
    kernel.tools.register(tool('hammer'));
    await kernel.idle();
    expect(await kernel.processes.get(pid)).toMatchObject({ status: 'runnable', attempt: 1 });
    kernel.tools.register(tool('saw'));
    expect((await kernel.processes.result(pid)).value).toBe('worker');
  });

  it('not when a tool was removed meanwhile', async () => {
    const kernel = await openKernel({ images: [image('worker', ['hammer'])] });
    const registration = kernel.tools.register(tool('hammer'));
    const first = await kernel.processes.spawn({ image: 'worker' });
    expect((await kernel.processes.result(first)).status).toBe('exited');
    registration[Symbol.dispose]();
    const second = await kernel.processes.spawn({ image: 'worker' });
    await kernel.idle();
    expect(await kernel.processes.get(second)).toMatchObject({
      status: 'runnable',
      wait: { kind: 'tools', what: 'worker@1', missing: ['hammer'] },
    });
  });

  it('a process whose image names a pattern when one tool matches it', async () => {
    const kernel = await openKernel({ images: [image('worker', ['mcp/github/**', 'fs.read'])] });
    kernel.tools.register(tool('mcp/githubber/list'));
    const pid = await kernel.processes.spawn({ image: 'worker' });
    await kernel.idle();
    expect(await waitOf(kernel, pid)).toMatchObject({ kind: 'tools', missing: ['mcp/github/**'] });
    kernel.tools.register(tool('mcp/github/issues/list'));
    expect((await kernel.processes.result(pid)).status).toBe('exited');
  });

  it('a process of steps only with its tools', async () => {
    const steps = defineSteps({ name: 'list', tools: ['hammer'], steps: [{ name: 'one', run: () => 1 }] });
    const kernel = await openKernel({ images: [steps] });
    const pid = await kernel.processes.spawn({ image: 'list' });
    await kernel.idle();
    expect((await kernel.processes.get(pid)).status).toBe('runnable');
    kernel.tools.register(tool('hammer'));
    expect((await kernel.processes.result(pid)).value).toBe(1);
  });

  it('after a restart, what it had not the tools for before', async () => {
    const store = await newStore();
    const images = [image('worker', ['hammer'])];
    const before = await openKernel({ store, images });
    const pid = await before.processes.spawn({ image: 'worker' });
    await before.idle();
    await before.shutdown();
    const after = await openKernel({ store, images, tools: [tool('hammer')] });
    expect((await after.processes.result(pid)).value).toBe('worker');
  });

  it('of two nodes on one file, the one that has the tools', async () => {
    const store = await newStore();
    const images = [image('worker', ['hammer'])];
    const without = await openKernel({ store, images, node: { pollMs: 10 } });
    const having = await openKernel({ store, images, tools: [tool('hammer')], node: { pollMs: 10 } });
    const pids = await Promise.all(Array.from({ length: 5 }, () => without.processes.spawn({ image: 'worker' })));
    for (const pid of pids) expect((await without.processes.result(pid)).status).toBe('exited');
    const started = await having.events.list({ types: ['process.started'] });
    expect(new Set(started.items.map(({ data }) => (data as JsonObject).node))).toEqual(new Set([having.nodeId]));
  });
});

describe('a node says in its row', () => {
  it('its images with builds and tools, its tools and its queues', async () => {
    const store = await newStore();
    const body = image('worker', ['hammer']);
    const kernel = await openKernel({
      store,
      images: [body, externalImage({ name: 'outside' })],
      tools: [tool('hammer')],
      node: { queues: ['default', 'gpu'] },
    });
    const offers = await offersIn(store, kernel);
    expect(Object.keys(offers.images)).toEqual(['worker@1']);
    expect(offers.images['worker@1']).toEqual({ build: expect.stringMatching(/^[0-9a-f]{16}$/), tools: ['hammer'] });
    expect(offers.tools).toEqual(kernel.tools.list().map(({ name }) => name));
    expect(offers.queues).toEqual(['default', 'gpu']);
  });

  it.skipIf(!runsUnitsOnce)('what was registered and removed later, in one write for all of it', async () => {
    const store = await newStore();
    const kernel = await openKernel({ store });
    const writes = vi.spyOn(kernel.container.get(NodeRepository), 'setOffers');
    const many = Array.from({ length: 100 }, (_, n) => tool(`many/t${n}`));
    const registrations = many.map((each) => kernel.tools.register(each));
    kernel.images.register(image('late'));
    await eventually(async () => expect((await offersIn(store, kernel)).images).toHaveProperty(['late@1']));
    expect((await offersIn(store, kernel)).tools).toContain('many/t99');
    expect(writes).toHaveBeenCalledTimes(1);
    for (const registration of registrations) registration[Symbol.dispose]();
    await eventually(async () => expect((await offersIn(store, kernel)).tools).not.toContain('many/t0'));
    expect(writes).toHaveBeenCalledTimes(2);
  });

  it('nothing that it offers if it runs no processes', async () => {
    const store = await newStore();
    const kernel = await watcher(store, { images: [image('worker')], tools: [tool('hammer')] });
    const pid = await kernel.processes.spawn({ capabilities: [{ resource: 'command:true', rights: ['call'] }] });
    await kernel.as(pid).run({ argv: ['true'] });
    expect(await offersIn(store, kernel)).toEqual({ images: {}, tools: [], queues: [] });
  });

  it('another build for other code, and the same for the same', async () => {
    const builds: string[] = [];
    const bodies = [async () => 1, async () => 2, async () => 1];
    for (const run of bodies) {
      const store = await newStore();
      const kernel = await openKernel({ store, images: [defineImage({ name: 'worker', run })] });
      builds.push((await offersIn(store, kernel)).images['worker@1']?.build ?? '');
    }
    expect(builds[0]).toBe(builds[2]);
    expect(builds[0]).not.toBe(builds[1]);
  });
});

describe('a runnable process that no live node can run', () => {
  it('shows that it waits for its image, and keeps its status', async () => {
    const store = await newStore();
    const kernel = await watcher(store, { images: [image('worker')] });
    const pid = await kernel.processes.spawn({ image: 'worker' });
    const { updatedAt } = await kernel.processes.get(pid);
    const open = await openKernel({ store });
    expect(await kernel.processes.get(pid)).toMatchObject({
      status: 'runnable',
      wait: { kind: 'image', what: 'worker@1', since: updatedAt },
    });
    expect(await waitOf(kernel, pid)).not.toHaveProperty('missing');
    open.images.register(image('worker'));
    expect((await kernel.processes.result(pid)).status).toBe('exited');
    expect(await waitOf(kernel, pid)).toBeUndefined();
  });

  it('shows the tools that the node with its image lacks least', async () => {
    const store = await newStore();
    const kernel = await watcher(store, { images: [image('worker', ['hammer', 'saw'])] });
    const pid = await kernel.processes.spawn({ image: 'worker' });
    await openKernel({ store, images: [image('worker', ['hammer', 'saw'])] });
    expect(await waitOf(kernel, pid)).toMatchObject({ kind: 'tools', what: 'worker@1', missing: ['hammer', 'saw'] });
    await openKernel({ store, images: [image('worker', ['hammer', 'saw'])], tools: [tool('saw')] });
    expect(await waitOf(kernel, pid)).toMatchObject({ kind: 'tools', missing: ['hammer'] });
    await openKernel({ store, images: [image('worker', ['hammer', 'saw'])], tools: [tool('saw'), tool('hammer')] });
    expect((await kernel.processes.result(pid)).status).toBe('exited');
  });

  it('shows nothing while a node can run it, although that is busy', async () => {
    let finish: () => void = () => undefined;
    const busy = defineImage({ name: 'busy', run: () => new Promise<void>((resolve) => (finish = resolve)) });
    const kernel = await openKernel({ images: [busy], node: { concurrency: 1 } });
    const first = await kernel.processes.spawn({ image: 'busy' });
    await eventually(async () => expect((await kernel.processes.get(first)).status).toBe('running'));
    const second = await kernel.processes.spawn({ image: 'busy' });
    expect(await kernel.processes.get(second)).toMatchObject({ status: 'runnable' });
    expect(await waitOf(kernel, second)).toBeUndefined();
    finish();
    await eventually(async () => expect((await kernel.processes.get(second)).status).toBe('running'));
    finish();
    await kernel.processes.result(second);
  });

  it('shows it after its node has shut down, and not of processes that are held or have ended', async () => {
    const store = await newStore();
    const kernel = await watcher(store, { images: [image('worker')] });
    const node = await openKernel({ store, images: [image('worker')] });
    const done = await kernel.processes.spawn({ image: 'worker' });
    await kernel.processes.result(done);
    await node.shutdown();
    const pid = await kernel.processes.spawn({ image: 'worker' });
    const held = await kernel.processes.spawn({ image: 'worker', held: true });
    expect(await waitOf(kernel, pid)).toMatchObject({ kind: 'image' });
    expect(await waitOf(kernel, held)).toBeUndefined();
    expect(await waitOf(kernel, done)).toBeUndefined();
    const reader = await openKernel({ store, readOnly: true });
    expect(await waitOf(reader, pid)).toMatchObject({ kind: 'image', what: 'worker@1' });
  });

  it('is not shown to wait while the row of a live node does not say what it offers', async () => {
    const store = await newStore();
    const kernel = await watcher(store, { images: [image('worker')] });
    const pid = await kernel.processes.spawn({ image: 'worker' });
    expect(await waitOf(kernel, pid)).toMatchObject({ kind: 'image' });
    await nodesIn(store).addElsewhere('n_old');
    expect(await waitOf(kernel, pid)).toBeUndefined();
  });

  it('does not wait for a node whose program is gone', async () => {
    const store = await newStore();
    const kernel = await watcher(store, { images: [image('worker')] });
    const node = await openKernel({ store, images: [image('worker')], node: { leaseMs: 600_000 } });
    const pid = await kernel.processes.spawn({ image: 'worker', held: true });
    await kernel.processes.resume(pid);
    await kernel.processes.result(pid);
    const { host } = (await nodesIn(store).get(node.nodeId)) ?? { host: '{}' };
    await nodesIn(store).edit(node.nodeId, { host: JSON.stringify({ ...JSON.parse(host), startTicks: '1' }) });
    await node.shutdown();
    await nodesIn(store).edit(node.nodeId, { ended_at: null });
    const next = await kernel.processes.spawn({ image: 'worker' });
    expect(await waitOf(kernel, next)).toMatchObject({ kind: 'image' });
  });

  it('is found by the kind of its wait, also by its parent', async () => {
    const kernel = await openKernel({ images: [image('worker', ['hammer']), image('gone')], node: { start: false } });
    const root = await kernel.processes.spawn();
    const tools = await kernel.processes.spawnChild(root, { image: 'worker' });
    const ready = await kernel.processes.spawnChild(root, { image: 'gone' });
    const pids = async (filter: object) => (await kernel.processes.list(filter)).items.map(({ pid }) => pid);
    expect(await pids({ waiting: 'tools' })).toEqual([tools]);
    expect(await pids({ waiting: 'image' })).toEqual([]);
    expect(await pids({ waiting: true })).toEqual([tools]);
    expect(await pids({ waiting: false })).toEqual([root, ready]);
    expect(await pids({ waiting: 'tools', parent: root })).toEqual([tools]);
    const seen = await kernel.as(root).children({ waiting: 'tools' });
    expect(seen.map(({ pid, wait }) => [pid, wait?.kind])).toEqual([[tools, 'tools']]);
    expect((await kernel.processes.tree(root)).children.map(({ wait }) => wait?.kind)).toEqual(['tools', undefined]);
    kernel.tools.register(tool('hammer'));
    expect(await pids({ waiting: 'tools' })).toEqual([]);
  });

  it('is found when it waits for its image', async () => {
    const kernel = await openKernel({ images: [image('worker')], node: { executor: false } });
    const pid = await kernel.processes.spawn({ image: 'worker' });
    const { items } = await kernel.processes.list({ waiting: 'image' });
    expect(items.map((item) => item.pid)).toEqual([pid]);
    expect((await kernel.processes.list({ waiting: 'tools' })).items).toEqual([]);
  });

  it('is told, with what is missing, and not twice within a minute', async () => {
    const told: { facts: Record<string, unknown>; message: string }[] = [];
    const report = (facts: object, message: string) => void told.push({ facts: { ...facts }, message });
    const kernel = await openKernel({
      logger: { warn: report, error: report },
      images: [image('worker', ['hammer']), image('free')],
    });
    const first = await kernel.processes.spawn({ image: 'worker' });
    await kernel.processes.spawn({ image: 'worker' });
    await eventually(() => expect(told).not.toEqual([]));
    expect(told).toEqual([
      {
        facts: { pid: first, image: 'worker@1', queue: 'default', processes: 2, kind: 'tools', missing: ['hammer'] },
        message: `process ${first} and 1 more of image worker@1 in queue default waits for tools that no node has (hammer)`,
      },
    ]);
    await kernel.processes.result(await kernel.processes.spawn({ image: 'free' }));
    expect(told).toHaveLength(1);
  });
});

describe('an image with a body', () => {
  it('that has none is refused', async () => {
    const define = async (spec: object) => defineImage(spec as never);
    expect(await refusal(define({ name: 'worker' }))).toMatchObject({
      code: 'INVALID_INPUT',
      facts: { path: 'spec.run' },
    });
    expect(await refusal(define({ name: 'worker', run: 'later' }))).toMatchObject({ code: 'INVALID_INPUT' });
    expect(await refusal(define(undefined as never))).toMatchObject({ code: 'INVALID_INPUT' });
    const bare = { name: 'worker', version: '1', kind: 'agent', requires: [], recovery: 'rerun' } as const;
    expect(await refusal(createKernel({ images: [bare] }))).toMatchObject({
      code: 'INVALID_INPUT',
      facts: { path: 'image.run' },
    });
  });
});
