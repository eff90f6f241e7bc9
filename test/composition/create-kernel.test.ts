import { generateKeyPairSync, sign } from 'node:crypto';
import { ContainerModule } from 'inversify';
import { describe, expect, it } from 'vitest';
import {
  CheckpointSink,
  Clock,
  createKernel,
  IdSource,
  Logger,
  type ReadTx,
  Signer,
  Store,
  type WriteTx,
} from '../../src/index.js';
import { newStore, openKernel, refusal, tempFolder } from '../support/kernel.js';

describe('parts that a caller replaces', () => {
  it('takes ids, clock, logger and signer from the options', async () => {
    let made = 0;
    const logged: string[] = [];
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const spki = publicKey.export({ format: 'der', type: 'spki' }).toString('base64');
    const kernel = await openKernel({
      ids: { next: (kind) => `${kind}-${++made}` },
      clock: { now: () => 1_900_000_000_000 },
      logger: { warn: (_facts, text) => logged.push(text), error: (_facts, text) => logged.push(text) },
      signer: { publicKey: () => spki, sign: (bytes) => sign(null, bytes, privateKey) },
    });
    kernel.events.on('process.spawned', () => {
      throw new Error('no');
    });
    const pid = await kernel.processes.spawn({});
    expect(pid).toMatch(/^process-\d+$/);
    expect((await kernel.processes.get(pid)).createdAt).toBe(1_900_000_000_000);
    expect(logged).toEqual(['an event listener failed']);
    const checkpoint = await kernel.audit.checkpoint();
    expect(await kernel.audit.verify({ checkpoint })).toMatchObject({ ok: true });
  });

  it('lets a plain binding of a module take the place of what is there', async () => {
    const kept: number[] = [];
    const module = new ContainerModule(({ bind }) => {
      bind(IdSource).toConstantValue({ next: (kind) => `mine-${kind}-${kept.push(0)}` });
      bind(CheckpointSink).toConstantValue({
        append: async ({ size }) => void kept.push(size),
        list: async function* () {
          yield* [];
        },
      });
    });
    const kernel = await openKernel({ modules: [module] });
    expect(await kernel.processes.spawn({})).toMatch(/^mine-process-/);
    const { size } = await kernel.audit.checkpoint();
    expect(kept.at(-1)).toBe(size);
    expect(kernel.container.get(Clock).now()).toBeGreaterThan(0);
  });

  it('takes a module that is one expression', async () => {
    const mine = { next: (kind: string) => `mine-${kind}-${Math.random()}` };
    const module = new ContainerModule(({ bind }) => bind(IdSource).toConstantValue(mine) as never);
    const kernel = await openKernel({ modules: [module] });
    expect(await kernel.processes.spawn({})).toMatch(/^mine-process-/);
  });

  it('lets a store be wrapped, and everything goes through it', async () => {
    const counts = { writes: 0, reads: 0 };
    const module = new ContainerModule(({ onActivation }) => {
      onActivation(Store, (_context, store) => ({
        open: () => store.open(),
        write: <T>(work: (tx: WriteTx) => Promise<T>) => {
          counts.writes++;
          return store.write(work);
        },
        read: <T>(work: (tx: ReadTx) => Promise<T>) => {
          counts.reads++;
          return store.read(work);
        },
        onForeignCommit: (listener) => store.onForeignCommit(listener),
        close: () => store.close(),
      }));
    });
    const kernel = await openKernel({ modules: [module] });
    const before = { ...counts };
    await kernel.processes.get(await kernel.processes.spawn({}));
    expect(counts).toEqual({ writes: before.writes + 1, reads: before.reads + 1 });
  });

  it('gives every kernel a container of its own', async () => {
    const [one, two] = [await openKernel(), await openKernel()];
    expect(one.container.get(Logger)).toBe(one.container.get(Logger));
    expect(one.container.get(Signer)).not.toBe(two.container.get(Signer));
    expect(one.nodeId).not.toBe(two.nodeId);
  });
});

describe('opening', () => {
  it.each([
    [{ store: 'data' }, 'INVALID_INPUT'],
    [{ store: 'postgres://localhost' }, 'INVALID_INPUT'],
    [{ store: '' }, 'INVALID_INPUT'],
    [{ workspace: 'no/such/folder' }, 'INVALID_PATH'],
    [{ durability: 'some' }, 'INVALID_INPUT'],
    [{ surprise: true }, 'INVALID_INPUT'],
    [{ node: { pollMs: 0 } }, 'INVALID_INPUT'],
    [{ images: [{ name: 'no image' }] }, 'INVALID_INPUT'],
  ])('refuses %j', async (options, code) => {
    expect(await refusal(createKernel(options as never))).toMatchObject({ code });
  });

  it('keeps the clock at or after the newest time in the store', async () => {
    const store = await newStore();
    const later = { now: () => Date.UTC(2040, 0, 1) };
    const first = await createKernel({ logger: 'silent', store, clock: later });
    await first.processes.spawn({});
    await first.shutdown();
    const second = await openKernel({ store });
    const pid = await second.processes.spawn({});
    expect((await second.processes.get(pid)).createdAt).toBeGreaterThanOrEqual(later.now());
  });

  it('never goes back in time with a clock that does', async () => {
    let now = 2_000_000_000_000;
    const kernel = await openKernel({ clock: { now: () => now } });
    const first = await kernel.processes.spawn({});
    now -= 60_000;
    const second = await kernel.processes.spawn({});
    const [a, b] = [await kernel.processes.get(first), await kernel.processes.get(second)];
    expect(b.createdAt).toBeGreaterThanOrEqual(a.createdAt);
  });

  it('refuses every call after its shutdown, and a second shutdown is harmless', async () => {
    const kernel = await createKernel({ logger: 'silent', store: await newStore(), workspace: tempFolder() });
    const pid = await kernel.processes.spawn({});
    const waiting = refusal(kernel.processes.result(pid));
    await kernel.shutdown();
    await kernel.shutdown();
    expect(await waiting).toMatchObject({ code: 'KERNEL_CLOSED' });
    expect(await refusal(kernel.processes.get(pid))).toMatchObject({ code: 'KERNEL_CLOSED' });
    expect(await refusal(kernel.processes.spawn({}))).toMatchObject({ code: 'KERNEL_CLOSED' });
  });

  it('is disposed of by `await using`', async () => {
    const store = await newStore();
    {
      await using kernel = await createKernel({ logger: 'silent', store });
      await kernel.processes.spawn({});
    }
    const kernel = await openKernel({ store });
    expect((await kernel.processes.list()).items).toHaveLength(1);
  });
});
