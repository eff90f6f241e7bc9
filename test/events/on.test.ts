import { describe, expect, it } from 'vitest';
import type { EventType, KernelEvent, Logger, Pid } from '../../src/index.js';
import { stage } from '../support/kernel-fixture.js';

/** Listeners with a tree filter may have to read first; a few commits later they have been called. */
async function settled(read: () => Promise<unknown>): Promise<void> {
  for (let i = 0; i < 20; i++) await read();
}

function recorder(): { seen: KernelEvent[]; listener: (event: KernelEvent) => void } {
  const seen: KernelEvent[] = [];
  return { seen, listener: (event) => void seen.push(event) };
}

function loggerOf(messages: string[]): Logger {
  const keep = (_facts: object, message: string) => void messages.push(message);
  return { warn: keep, error: keep };
}

describe('on', () => {
  it('tells every event after its commit, in order, before the call that made it resolves', async () => {
    const { kernel } = await stage();
    const { seen, listener } = recorder();
    using _subscription = kernel.events.on('*', listener);
    const pid = await kernel.processes.spawn({});
    expect(seen.map(({ type, pid: of }) => [type, of])).toEqual([['process.spawned', pid]]);
    await Promise.all([kernel.processes.charge(pid, { tokens: 1 }), kernel.processes.exit(pid)]);
    const { items } = await kernel.events.list({ after: String((seen[0]?.seq ?? 0) - 1) });
    expect(seen).toEqual(items);
  });

  it('tells of one type only, when asked so', async () => {
    const { kernel } = await stage();
    const { seen, listener } = recorder();
    using _subscription = kernel.events.on('process.exited', listener);
    const pid = await kernel.processes.spawn({});
    await kernel.processes.exit(pid);
    expect(seen.map(({ type, data }) => [type, data])).toEqual([
      ['process.exited', { status: 'exited', outcome: 'completed', result: null }],
    ]);
  });

  it('filters by process and by tree of birth', async () => {
    const { kernel } = await stage();
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
    await settled(() => kernel.processes.get(root));
    const told = (seen: KernelEvent[]) => seen.map(({ type, pid }) => [type, pid]);
    expect(told(ofChild.seen)).toEqual([['process.exited', child]]);
    expect(told(both.seen)).toEqual([['process.exited', child]]);
    expect(told(ofTree.seen)).toEqual([
      ['process.spawned', below],
      ['process.exited', child],
      ['process.reparented', below],
      ['process.exited', below],
    ]);
  });

  it('tells nothing of a unit that was refused', async () => {
    const { kernel, refused } = await stage();
    const pid = await kernel.processes.spawn({});
    await kernel.processes.exit(pid);
    const { seen, listener } = recorder();
    using _subscription = kernel.events.on('*', listener);
    await refused(() => kernel.processes.spawnChild(pid, {}));
    expect(seen).toEqual([]);
  });

  it('shows a listener the state after the commit, and lets it call the kernel', async () => {
    const { kernel } = await stage();
    const seen: string[] = [];
    const born: Promise<Pid>[] = [];
    using _subscription = kernel.events.on('process.exited', async ({ pid }) => {
      seen.push((await kernel.processes.get(pid ?? '')).status);
      born.push(kernel.processes.spawn({ name: 'next' }));
    });
    await kernel.processes.exit(await kernel.processes.spawn({}));
    await kernel.processes.kill(await kernel.processes.spawn({}));
    await settled(() => kernel.processes.list());
    await Promise.all(born);
    expect(seen).toEqual(['exited', 'killed']);
    expect((await kernel.processes.list({ name: 'next' })).items.length).toBe(2);
  });

  it('isolates listeners that throw, reject or hang, and says so to the logger', async () => {
    const messages: string[] = [];
    const { kernel } = await stage({ logger: loggerOf(messages) });
    const { seen, listener } = recorder();
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
    await settled(() => kernel.processes.get(pid));
    expect(seen.map((event) => event.pid)).toEqual([pid]);
    expect(messages.length).toBe(6);
    expect((await kernel.audit.verify()).ok).toBe(true);
  });

  it('goes on when the logger itself fails', async () => {
    const fail = () => {
      throw new Error('no disk for the log');
    };
    const { kernel } = await stage({ logger: { warn: fail, error: fail } });
    kernel.events.on('process.spawned', fail);
    kernel.events.on('process.spawned', () => Promise.reject(new Error('rejected')));
    const pid = await kernel.processes.spawn({});
    await settled(() => kernel.processes.get(pid));
    expect((await kernel.processes.get(pid)).status).toBe('created');
  });

  it('tells a listener nothing more once it has unsubscribed, also during dispatch', async () => {
    const { kernel } = await stage();
    const { seen, listener } = recorder();
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
    expect([seen.length, once.seen.length, third.seen.length]).toEqual([0, 1, 2]);
  });

  it('tells a listener of a tree nothing more once it has unsubscribed', async () => {
    const { kernel } = await stage();
    const root = await kernel.processes.spawn({});
    const { seen, listener } = recorder();
    const subscription = kernel.events.on('*', listener, { tree: root });
    const born = kernel.processes.spawnChild(root, {});
    const unsubscribing = kernel.events.on('process.spawned', () => subscription[Symbol.dispose]());
    await born;
    await settled(() => kernel.processes.get(root));
    unsubscribing[Symbol.dispose]();
    expect(seen).toEqual([]);
  });

  it('refuses a type, a listener and a filter that are none', async () => {
    const { kernel } = await stage();
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
