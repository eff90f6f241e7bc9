import { describe, expect, it } from 'vitest';
import {
  commandImage,
  createKernel,
  defineImage,
  defineSupervisor,
  type JsonObject,
  type Kernel,
  type Pid,
} from '../../src/index.js';
import { newStore, openKernel, refusal } from '../support/kernel.js';

const worker = defineImage({ name: 'worker', run: async (ctx) => ctx.step('done', () => 'done') });
const family = defineImage({
  name: 'family',
  run: async (ctx) => {
    const plain = await ctx.spawnChild({ image: 'worker' });
    const other = await ctx.spawnChild({ image: 'worker', queue: 'gpu' });
    const forked = await ctx.fork({ image: 'worker' });
    await ctx.waitAll([plain, other, forked]);
    return [plain, other, forked];
  },
});
const images = [worker, family];

const open = (store: string, ...queues: string[]) =>
  openKernel({ store, images, node: { pollMs: 10, ...(queues.length === 0 ? {} : { queues }) } });

/** The node that began to run the process. */
async function nodeOf(kernel: Kernel, pid: Pid): Promise<unknown> {
  const { items } = await kernel.events.list({ types: ['process.started'], pid });
  return (items[0]?.data as JsonObject | undefined)?.node;
}

describe('a queue', () => {
  it('is `default` unless the spec names another, and stands in the record', async () => {
    const kernel = await openKernel({ images, node: { executor: false } });
    const plain = await kernel.processes.spawn({ image: 'worker' });
    const named = await kernel.processes.spawn({ image: 'worker', queue: 'gpu' });
    expect((await kernel.processes.get(plain)).queue).toBe('default');
    expect((await kernel.processes.get(named)).queue).toBe('gpu');
    const list = async (queue: string) => (await kernel.processes.list({ queue })).items.map(({ pid }) => pid);
    expect(await list('gpu')).toEqual([named]);
    expect(await list('default')).toEqual([plain]);
  });

  it('is served by the nodes that name it, and by no others', async () => {
    const store = await newStore();
    const plain = await open(store);
    const other = await open(store, 'gpu');
    const pids = await Promise.all(
      ['default', 'gpu', 'gpu', 'default'].map((queue) => plain.processes.spawn({ image: 'worker', queue })),
    );
    for (const pid of pids) await plain.processes.result(pid);
    const nodes = await Promise.all(pids.map((pid) => nodeOf(plain, pid)));
    expect(nodes).toEqual([plain.nodeId, other.nodeId, other.nodeId, plain.nodeId]);
  });

  it('is what a supervisor names for a child, also when it is started again', async () => {
    const store = await newStore();
    const failing = defineImage({
      name: 'failing',
      run: async (_ctx, _args) => {
        throw new Error('no');
      },
    });
    const team = defineSupervisor({
      name: 'team',
      strategy: 'one_for_one',
      intensity: 1,
      periodMs: 60_000,
      children: [{ name: 'child', image: 'failing', restart: 'permanent', queue: 'gpu' }],
    });
    const openTeam = (queue: string) =>
      openKernel({ store, images: [failing, team], node: { pollMs: 10, queues: [queue] } });
    const [plain, other] = [await openTeam('default'), await openTeam('gpu')];
    const pid = await plain.processes.spawn({ image: 'team' });
    expect((await plain.processes.result(pid)).status).toBe('failed');
    const children = await plain.processes.children(pid);
    expect(children.map(({ queue }) => queue)).toEqual(['gpu', 'gpu']);
    for (const child of children) expect(await nodeOf(plain, child.pid)).toBe(other.nodeId);
  });

  it('of a child of a supervisor is checked with the image', async () => {
    const children = [{ name: 'child', image: 'worker', restart: 'permanent', queue: 'no queue' }] as const;
    const spec = { name: 'team', strategy: 'one_for_one', intensity: 1, periodMs: 1_000, children } as const;
    expect(await refusal(openKernel({ images: [worker, defineSupervisor(spec)] }))).toMatchObject({
      code: 'INVALID_INPUT',
      facts: { path: 'image.supervision.children.0.queue' },
    });
  });

  it('is not claimed from at the start by a node that does not name it', async () => {
    const store = await newStore();
    const looker = await openKernel({ store, images, node: { executor: false, pollMs: 10 } });
    const pid = await looker.processes.spawn({ image: 'worker', queue: 'gpu' });
    const plain = await open(store);
    await plain.idle();
    expect(await looker.processes.get(pid)).toMatchObject({
      status: 'runnable',
      wait: { kind: 'image', what: 'worker@1', missing: ['queue:gpu'] },
    });
    await plain.shutdown();
    const both = await open(store, 'default', 'gpu');
    expect((await looker.processes.result(pid)).status).toBe('exited');
    expect(await nodeOf(looker, pid)).toBe(both.nodeId);
  });

  it('is inherited by children and forks that name no other', async () => {
    const store = await newStore();
    const left = await open(store, 'left');
    const gpu = await open(store, 'gpu');
    const root = await left.processes.spawn({ image: 'family', queue: 'left' });
    const { value } = await left.processes.result(root);
    const [plain = '', other = '', forked = ''] = value as string[];
    const queues = await Promise.all([plain, other, forked].map(async (pid) => (await left.processes.get(pid)).queue));
    expect(queues).toEqual(['left', 'gpu', 'left']);
    expect(await nodeOf(left, plain)).toBe(left.nodeId);
    expect(await nodeOf(left, other)).toBe(gpu.nodeId);
    expect(await nodeOf(left, forked)).toBe(left.nodeId);
  });

  it('stays with the process when its node is replaced', async () => {
    const store = await newStore();
    const sleeper = defineImage({ name: 'sleeper', run: async (ctx) => void (await ctx.receive()) });
    const start = (...queues: string[]) => openKernel({ store, images: [sleeper], node: { pollMs: 10, queues } });
    const first = await start('gpu');
    const pid = await first.processes.spawn({ image: 'sleeper', queue: 'gpu' });
    await first.idle();
    await first.shutdown();
    const plain = await start('default');
    await plain.idle();
    expect((await plain.processes.get(pid)).status).toBe('runnable');
    const next = await start('gpu');
    await next.idle();
    expect(await plain.processes.get(pid)).toMatchObject({ status: 'waiting', node: next.nodeId, queue: 'gpu' });
  });
});

describe('commands', () => {
  const image = commandImage({ name: 'say', command: 'echo', args: ['hello'] });

  it('of an image are started by a node that claims from their queue', async () => {
    const store = await newStore();
    const start = (queue: string) => openKernel({ store, images: [image], node: { pollMs: 10, queues: [queue] } });
    const plain = await start('default');
    const pid = await plain.processes.spawn({ image: 'say', queue: 'gpu' });
    const own = await plain.processes.spawn({ image: 'say' });
    expect(await plain.processes.result(own)).toMatchObject({ status: 'exited', exitCode: 0 });
    expect(await plain.processes.get(pid)).toMatchObject({ status: 'created' });
    expect(await plain.processes.get(pid)).not.toHaveProperty('node');
    await plain.idle();
    const gpu = await start('gpu');
    expect(await plain.processes.result(pid)).toMatchObject({ status: 'exited', exitCode: 0 });
    const { items } = await plain.events.list({ types: ['process.started'], pid });
    expect(items[0]?.data).toMatchObject({ node: gpu.nodeId });
  });

  it('that a process runs stay with the node of the process', async () => {
    const store = await newStore();
    const runner = defineImage({
      name: 'runner',
      run: async (ctx) => (await ctx.run({ argv: ['echo', 'hello'] })).exitCode,
    });
    const node = await openKernel({ store, images: [runner], node: { pollMs: 10, queues: ['gpu'] } });
    const plain = await openKernel({ store, images: [runner], node: { pollMs: 10 } });
    const capabilities = [{ resource: 'command:echo', rights: ['call' as const] }];
    const pid = await plain.processes.spawn({ image: 'runner', queue: 'gpu', capabilities });
    expect((await plain.processes.result(pid)).value).toBe(0);
    const [command] = await plain.processes.children(pid);
    expect(command).toMatchObject({ kind: 'command', queue: 'gpu' });
    const { items } = await plain.events.list({ types: ['process.started'], pid: command?.pid ?? '' });
    expect(items[0]?.data).toMatchObject({ node: node.nodeId });
  });
});

it('names of queues are checked', async () => {
  const kernel = await openKernel({ images });
  for (const queue of ['', 'a b', 'x'.repeat(65), 1 as never]) {
    expect(await refusal(kernel.processes.spawn({ image: 'worker', queue }))).toMatchObject({
      code: 'INVALID_INPUT',
      facts: { path: 'spec.queue' },
    });
  }
  for (const queues of [[], ['a b'], 'gpu' as never]) {
    expect(await refusal(createKernel({ node: { queues } }))).toMatchObject({ code: 'INVALID_INPUT' });
  }
});
