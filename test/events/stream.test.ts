import { describe, expect, it } from 'vitest';
import type { Kernel, KernelEvent } from '../../src/index.js';
import { openKernel, refusal } from '../support/kernel.js';
import { kernelFixture, worker } from '../support/kernel-fixture.js';

type Options = NonNullable<Parameters<Kernel['events']['stream']>[0]>;

/** The next `count` events of a stream. */
async function take(kernel: Kernel, count: number, options: Options = {}): Promise<KernelEvent[]> {
  const taken: KernelEvent[] = [];
  if (count === 0) return taken;
  for await (const event of kernel.events.stream(options)) {
    taken.push(event);
    if (taken.length === count) break;
  }
  return taken;
}

/** Reads to the end of a stream, which its signal or the shutdown ends. */
async function drain(kernel: Kernel, options: Options = {}): Promise<KernelEvent[]> {
  const taken: KernelEvent[] = [];
  for await (const event of kernel.events.stream(options)) taken.push(event);
  return taken;
}

const seqs = (events: readonly KernelEvent[]) => events.map(({ seq }) => seq);
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

describe('stream', () => {
  it('yields the events of the log, then new ones, without gap or repeat', async () => {
    const { kernel } = await kernelFixture();
    for (let i = 0; i < 5; i++) await kernel.processes.spawn({});
    const reading = take(kernel, 46);
    for (let i = 0; i < 10; i++) await Promise.all(Array.from({ length: 4 }, () => kernel.processes.spawn({})));
    const events = await reading;
    expect(seqs(events)).toEqual(range(1, 46));
    expect(events).toEqual((await kernel.events.list({ limit: 46 })).items);
  });

  it('begins after its cursor', async () => {
    const { kernel } = await kernelFixture();
    for (let i = 0; i < 5; i++) await kernel.processes.spawn({});
    expect(seqs(await take(kernel, 2, { after: 4 }))).toEqual([5, 6]);
  });

  it('goes on from its cursor after a restart, with what happened meanwhile', async () => {
    const first = await kernelFixture();
    await first.kernel.processes.spawn({});
    const before = await take(first.kernel, 2);
    await first.kernel.shutdown();
    const second = await openKernel({ store: first.path, node: { executor: false } });
    await second.processes.spawn({});
    const { items } = await second.events.list();
    const after = await take(second, items.length - 2, { after: before.at(-1)?.seq ?? 0 });
    expect([...before, ...after]).toEqual(items);
    expect(seqs(items)).toEqual(range(1, items.length));
  });

  it('gives the events of every kernel on the file, in the order of the log', async () => {
    const { kernel, path } = await kernelFixture();
    const other = await openKernel({ store: path, node: { executor: false }, images: [worker] });
    const reading = [take(kernel, 22), take(other, 22)];
    for (let i = 0; i < 10; i++) await Promise.all([kernel.processes.spawn({}), other.processes.spawn({})]);
    const [a, b] = await Promise.all(reading);
    expect(seqs(a ?? [])).toEqual(range(1, 22));
    expect(b).toEqual(a);
    expect(new Set(a?.map(({ node }) => node))).toEqual(new Set([kernel.nodeId, other.nodeId]));
  });

  it('filters by type, process and tree', async () => {
    const { kernel } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    const child = await kernel.processes.spawnChild(root, {});
    const below = await kernel.processes.spawnChild(child, {});
    await kernel.processes.spawn({});
    await kernel.processes.exit(below);
    await kernel.processes.exit(child);
    const typesAndPids = (events: KernelEvent[]) => events.map(({ type, pid }) => [type, pid]);
    expect(typesAndPids(await take(kernel, 2, { pid: child }))).toEqual([
      ['process.spawned', child],
      ['process.exited', child],
    ]);
    expect(typesAndPids(await take(kernel, 4, { tree: child }))).toEqual([
      ['process.spawned', child],
      ['process.spawned', below],
      ['process.exited', below],
      ['process.exited', child],
    ]);
    expect(typesAndPids(await take(kernel, 2, { tree: root, types: ['process.exited'] }))).toEqual([
      ['process.exited', below],
      ['process.exited', child],
    ]);
  });

  it('of a slow reader slows nobody else, and it misses nothing', async () => {
    const { kernel } = await kernelFixture();
    const slow = kernel.events.stream()[Symbol.asyncIterator]();
    const first = await slow.next();
    await Promise.all(Array.from({ length: 1_200 }, () => kernel.processes.spawn({})));
    expect(seqs(await take(kernel, 1_201))).toEqual(range(1, 1_201));
    const readSeqs = [first.value.seq];
    for (let i = 0; i < 1_200; i++) readSeqs.push((await slow.next()).value.seq);
    expect(readSeqs).toEqual(range(1, 1_201));
    await slow.return?.();
  });

  it('ends, and does not throw, when its signal aborts', async () => {
    const { kernel } = await kernelFixture();
    const abort = new AbortController();
    const reading = drain(kernel, { signal: abort.signal });
    await kernel.processes.spawn({});
    abort.abort(new Error('enough'));
    expect((await reading).length).toBeGreaterThanOrEqual(0);
    expect(await drain(kernel, { signal: abort.signal })).toEqual([]);
  });

  it('ends, and does not throw, when the kernel is shut down', async () => {
    const { kernel } = await kernelFixture();
    const reading = drain(kernel);
    await kernel.processes.spawn({});
    await kernel.shutdown();
    const events = await reading;
    expect(seqs(events)).toEqual(range(1, events.length));
    expect(await drain(kernel)).toEqual([]);
  });

  it('ends, and does not throw, when the kernel is shut down while a reader of a tree holds an event', async () => {
    const { kernel } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    for (let i = 0; i < 5; i++) await kernel.processes.spawnChild(root, {});
    const reader = kernel.events.stream({ tree: root })[Symbol.asyncIterator]();
    expect((await reader.next()).done).toBe(false);
    await kernel.shutdown();
    expect(await reader.next()).toEqual({ done: true, value: undefined });
  });

  it('refuses invalid options', async () => {
    const { kernel } = await kernelFixture();
    const bad = [
      { after: -1 },
      { after: '1' },
      { types: ['x'] },
      { signal: {} },
      { signal: Object.create(AbortSignal.prototype) },
      { from: 1 },
      null,
    ];
    for (const options of bad) expect((await refusal(drain(kernel, options as never))).code).toBe('INVALID_INPUT');
  });
});
