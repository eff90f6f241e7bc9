import { describe, expect, it } from 'vitest';
import type { EventType, KernelEvent, Logger, Pid } from '../../src/index.js';
import { kernelFixture } from '../support/kernel-fixture.js';

/** Listeners with a tree filter may have to read first; a few commits later they have been called. */
async function waitUntilStable(read: () => Promise<unknown>): Promise<void> {
  for (let i = 0; i < 20; i++) await read();
}

function recorder(): { received: KernelEvent[]; listener: (event: KernelEvent) => void } {
  const received: KernelEvent[] = [];
  return { received, listener: (event) => void received.push(event) };
}

function loggerOf(messages: string[]): Logger {
  const keep = (_facts: object, message: string) => void messages.push(message);
  return { warn: keep, error: keep };
}

describe('on', () => {
  it('calls a listener with every event after its commit, in order, before the call that made it resolves', async () => {
    const { kernel } = await kernelFixture();
    const { received, listener } = recorder();
    using _subscription = kernel.events.on('*', listener);
    const pid = await kernel.processes.spawn({});
    expect(received.map(({ type, pid: of }) => [type, of])).toEqual([['process.spawned', pid]]);
    await Promise.all([kernel.processes.charge(pid, { tokens: 1 }), kernel.processes.exit(pid)]);
    const { items } = await kernel.events.list({ after: String((received[0]?.seq ?? 0) - 1) });
    expect(received).toEqual(items);
  });

  it('calls a listener for one type only, if a type is given', async () => {
    const { kernel } = await kernelFixture();
    const { received, listener } = recorder();
    using _subscription = kernel.events.on('process.exited', listener);
    const pid = await kernel.processes.spawn({});
    await kernel.processes.exit(pid);
    expect(received.map(({ type, data }) => [type, data])).toEqual([
      ['process.exited', { status: 'exited', outcome: 'completed', result: null }],
    ]);
  });

  it('filters by process and by tree', async () => {
    const { kernel } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    const child = await kernel.processes.spawnChild(root, {});
    const [ofChild, ofTree, both] = [recorder(), recorder(), recorder()];
    using _a = kernel.events.on('*', ofChild.listener, { pid: child });
    using _b = kernel.events.on('*', ofTree.listener, { tree: child });
    using _c = kernel.events.on('*', both.listener, { tree: root, pid: child });
    const below = await kernel.processes.spawnChild(child, { onParentExit: 'detach' });
    await kernel.processes.spawnChild(root, {});
    await kernel.processes.exit(child);
    await kernel.processes.exit(below);
    await waitUntilStable(() => kernel.processes.get(root));
    const typesAndPids = (received: KernelEvent[]) => received.map(({ type, pid }) => [type, pid]);
    expect(typesAndPids(ofChild.received)).toEqual([['process.exited', child]]);
    expect(typesAndPids(both.received)).toEqual([['process.exited', child]]);
    expect(typesAndPids(ofTree.received)).toEqual([
      ['process.spawned', below],
      ['process.exited', child],
      ['process.reparented', below],
      ['process.exited', below],
    ]);
  });

  it('publishes nothing of a unit that was refused', async () => {
    const { kernel, refused } = await kernelFixture();
    const pid = await kernel.processes.spawn({});
    await kernel.processes.exit(pid);
    const { received, listener } = recorder();
    using _subscription = kernel.events.on('*', listener);
    await refused(() => kernel.processes.spawnChild(pid, {}));
    expect(received).toEqual([]);
  });

  it('shows a listener the state after the commit, and lets it call the kernel', async () => {
    const { kernel } = await kernelFixture();
    const received: string[] = [];
    const spawned: Promise<Pid>[] = [];
    using _subscription = kernel.events.on('process.exited', async ({ pid }) => {
      received.push((await kernel.processes.get(pid ?? '')).status);
      spawned.push(kernel.processes.spawn({ name: 'next' }));
    });
    await kernel.processes.exit(await kernel.processes.spawn({}));
    await kernel.processes.kill(await kernel.processes.spawn({}));
    await waitUntilStable(() => kernel.processes.list());
    await Promise.all(spawned);
    expect(received).toEqual(['exited', 'killed']);
    expect((await kernel.processes.list({ name: 'next' })).items.length).toBe(2);
  });

  it('isolates listeners that throw, reject or hang, and logs it', async () => {
    const messages: string[] = [];
    const { kernel } = await kernelFixture({ logger: loggerOf(messages) });
    const { received, listener } = recorder();
    const odd = Object.create(null);
    const listeners = [
      () => {
        throw new Error('thrown');
      },
      () => {
        throw odd;
      },
      () => {
        throw { toString: () => 'x'.repeat(-1) };
      },
      () => {
        throw undefined;
      },
      () => Promise.reject(new Error('rejected')),
      () => Promise.reject(odd),
      () => new Promise(() => undefined),
    ];
    for (const one of listeners) kernel.events.on('process.spawned', one);
    kernel.events.on('process.spawned', listener);
    const pid = await kernel.processes.spawn({});
    await waitUntilStable(() => kernel.processes.get(pid));
    expect(received.map((event) => event.pid)).toEqual([pid]);
    expect(messages.length).toBe(6);
    expect((await kernel.audit.verify()).ok).toBe(true);
  });

  it('goes on when the logger itself fails', async () => {
    const fail = () => {
      throw new Error('no disk for the log');
    };
    const { kernel } = await kernelFixture({ logger: { warn: fail, error: fail } });
    kernel.events.on('process.spawned', fail);
    kernel.events.on('process.spawned', () => Promise.reject(new Error('rejected')));
    const pid = await kernel.processes.spawn({});
    await waitUntilStable(() => kernel.processes.get(pid));
    expect((await kernel.processes.get(pid)).status).toBe('created');
  });

  it('does not call a listener that has unsubscribed, also during dispatch', async () => {
    const { kernel } = await kernelFixture();
    const { received, listener } = recorder();
    const first = kernel.events.on('process.spawned', () => second[Symbol.dispose]());
    const second = kernel.events.on('process.spawned', listener);
    const once = recorder();
    const self = kernel.events.on('process.spawned', (event) => {
      once.listener(event);
      self[Symbol.dispose]();
    });
    const third = recorder();
    kernel.events.on('process.spawned', third.listener);
    await kernel.processes.spawn({});
    await kernel.processes.spawn({});
    first[Symbol.dispose]();
    second[Symbol.dispose]();
    expect([received.length, once.received.length, third.received.length]).toEqual([0, 1, 2]);
  });

  it('does not call a listener of a tree that has unsubscribed', async () => {
    const { kernel } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    const { received, listener } = recorder();
    const subscription = kernel.events.on('*', listener, { tree: root });
    const spawned = kernel.processes.spawnChild(root, {});
    const unsubscribing = kernel.events.on('process.spawned', () => subscription[Symbol.dispose]());
    await spawned;
    await waitUntilStable(() => kernel.processes.get(root));
    unsubscribing[Symbol.dispose]();
    expect(received).toEqual([]);
  });

  it('refuses an invalid type, listener or filter', async () => {
    const { kernel } = await kernelFixture();
    const invalid = expect.objectContaining({ code: 'INVALID_INPUT' });
    const { on } = kernel.events;
    const listen = on.bind(kernel.events);
    for (const type of ['process.died', '', 'toString', '__proto__', 5, null, Object.create(null), Symbol('x')]) {
      expect(() => listen(type as EventType, () => 0)).toThrow(invalid);
    }
    for (const listener of [undefined, null, {}, 'x']) {
      expect(() => listen('*', listener as never)).toThrow(invalid);
    }
    for (const filter of [null, 5, { root: 'x' }, { pid: 5 }]) {
      expect(() => listen('*', () => 0, filter as never)).toThrow(invalid);
    }
  });
});
