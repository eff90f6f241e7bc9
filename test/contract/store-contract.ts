import { AsyncLocalStorage, createHook } from 'node:async_hooks';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { AuditRepository } from '../../src/audit/audit-repository.js';
import { KernelError, ProcessError } from '../../src/base/errors.js';
import type { Channel, ReadTx, Store, WriteTx } from '../../src/base/store.js';
import type { EventRepository } from '../../src/events/event-repository.js';
import { runsUnitsOnce } from '../support/store-modes.js';

/** A store to test, with new data for every test, and repositories to write with. */
export interface StoreUnderTest {
  /** Another store on the same data, not yet open; absent where data belong to one store alone. */
  readonly createSecond?: () => Store;
  readonly store: Store;
  /** Numbered rows, which channels write. */
  readonly events: EventRepository;
  /** Plain rows, which units write themselves. */
  readonly rows: AuditRepository;
}

/** The guarantees of every store. */
export function storeContract(name: string, make: () => Promise<StoreUnderTest>): void {
  describe(name, () => {
    describe('a write', () => {
      it('is committed once its promise has resolved', async () => {
        const { store, put, keys } = await open(make);
        expect(await store.write(async (tx) => put(tx, 'a', 'b').then(() => 7))).toBe(7);
        expect(await keys()).toEqual(['a', 'b']);
      });

      it('that throws after writing leaves nothing', async () => {
        const { store, put, keys, log } = await open(make);
        const outcome = store.write(async (tx) => {
          await put(tx, 'a');
          tx.defer(log, 'a');
          throw new ProcessError('CONFLICT', 'no');
        });
        await expect(outcome).rejects.toMatchObject({ code: 'CONFLICT' });
        expect({ keys: await keys(), seals: log.seals, log: await log.readStored() }).toEqual({
          keys: [],
          seals: [],
          log: [],
        });
      });

      it('rejects with the very error that the unit threw', async () => {
        const { store, put } = await open(make);
        const refused = new ProcessError('CONFLICT', 'no', { facts: { pid: 'p_1' } });
        const unit = async (tx: WriteTx) => put(tx, 'a').then(() => Promise.reject(refused));
        expect(await store.write(unit).catch((error: unknown) => error)).toBe(refused);
      });

      it('turns a throw that is no KernelError into one, and leaves nothing of it', async () => {
        const { store, put, keys } = await open(make);
        const outcome = await store
          .write(async (tx) => put(tx, 'a').then(() => Promise.reject(new TypeError('oops'))))
          .catch((error: unknown) => error);
        expect(outcome).toBeInstanceOf(KernelError);
        expect(outcome).toMatchObject({ code: 'INTERNAL' });
        expect(await keys()).toEqual([]);
      });

      it('that throws before its first await is refused like any other', async () => {
        const { store } = await open(make);
        const thrower = () => {
          throw new ProcessError('CONFLICT', 'at once');
        };
        await expect(store.write(thrower)).rejects.toMatchObject({ code: 'CONFLICT' });
        await expect(store.read(thrower)).rejects.toMatchObject({ code: 'CONFLICT' });
      });

      it('sees what it wrote itself before it is committed', async () => {
        const { store, put, rows } = await open(make);
        const keysRead = await store.write(async (tx) => put(tx, 'a').then(() => rows.keys(tx)));
        expect(keysRead.map(({ id }) => id)).toEqual(['a']);
      });
    });

    describe('a group', () => {
      it('undoes a refused unit alone', async () => {
        const { store, put, keys, log } = await open(make);
        const unit = (n: number) =>
          store.write(async (tx) => {
            await put(tx, `k${n}`);
            tx.defer(log, `k${n}`);
            await put(tx, `k${n}+`);
            if (n % 3 === 1) throw new ProcessError('CONFLICT', `no ${n}`);
            return n;
          });
        const outcomes = await Promise.allSettled([0, 1, 2, 3, 4, 5].map(unit));
        expect(outcomes.map(({ status }) => status === 'fulfilled')).toEqual([true, false, true, true, false, true]);
        expect(await keys()).toEqual(['k0', 'k0+', 'k2', 'k2+', 'k3', 'k3+', 'k5', 'k5+']);
        expect(await log.readStored()).toEqual([
          { seq: 1, item: 'k0' },
          { seq: 2, item: 'k2' },
          { seq: 3, item: 'k3' },
          { seq: 4, item: 'k5' },
        ]);
      });

      it('undoes a unit that the store itself refuses alone', async () => {
        const { store, put, keys, events } = await open(make);
        const event = { seq: 1, type: 'node.started', at: 1, node: 'n', data: { name: '' } } as const;
        const twice = store.write(async (tx) => {
          await put(tx, 'twice');
          await events.insert(tx, event);
          await events.insert(tx, event);
        });
        const [refused] = await Promise.allSettled([twice, store.write((tx) => put(tx, 'other'))]);
        expect(refused).toMatchObject({ status: 'rejected', reason: { name: 'StoreError' } });
        expect(await keys()).toEqual(['other']);
      });

      it('is made of the units that wait together: far fewer seals than units', async () => {
        const { store, log } = await open(make);
        await Promise.all(Array.from({ length: 64 }, (_, n) => store.write(async (tx) => tx.defer(log, `u${n}`))));
        expect(log.seals.flat()).toEqual(Array.from({ length: 64 }, (_, n) => `u${n}`));
        expect(log.seals.length).toBeLessThanOrEqual(16);
      });

      it('does not delay a single unit', async () => {
        const { store, log } = await open(make);
        // The first one may connect.
        await store.write(async () => undefined);
        for (let n = 0; n < 20; n++) {
          expect(await countTimers(() => store.write(async (tx) => tx.defer(log, `u${n}`)))).toBe(0);
        }
        expect(log.seals).toEqual(Array.from({ length: 20 }, (_, n) => [`u${n}`]));
      });

      it.skipIf(!runsUnitsOnce)('runs its units one after another in the order they came', async () => {
        const { store, put } = await open(make);
        const trace: string[] = [];
        const unit = (n: number) =>
          store.write(async (tx) => {
            trace.push(`${n} begins`);
            await put(tx, `k${n}`);
            await Promise.resolve();
            trace.push(`${n} ends`);
          });
        await Promise.all([0, 1, 2].map(unit));
        expect(trace).toEqual(['0 begins', '0 ends', '1 begins', '1 ends', '2 begins', '2 ends']);
      });

      it('notifies its channels before its callers, and both after the commit', async () => {
        const { store, log, peek } = await open(make);
        const order: string[] = [];
        log.onCommitted = (items) => void order.push(...items.map((item) => `channel: ${item}`));
        const unit = async (item: string) => {
          await store.write(async (tx) => tx.defer(log, item));
          order.push(`caller: ${item}`);
          expect(await peek()).toContain(item);
        };
        await Promise.all([unit('a'), unit('b')]);
        for (const item of ['a', 'b']) {
          expect(order.filter((line) => line.endsWith(item))).toEqual([`channel: ${item}`, `caller: ${item}`]);
        }
      });

      it('is refused whole when its channel cannot be sealed, and leaves nothing', async () => {
        const { store, put, keys, log } = await open(make);
        log.refusal = new ProcessError('CONFLICT', 'not sealed');
        const units = ['a', 'b'].map((key) => store.write(async (tx) => put(tx, key).then(() => tx.defer(log, key))));
        const outcomes = await Promise.allSettled(units);
        expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
        expect(await keys()).toEqual([]);
        log.refusal = undefined;
        await store.write(async (tx) => put(tx, 'c').then(() => tx.defer(log, 'c')));
        expect({ keys: await keys(), log: await log.readStored() }).toEqual({
          keys: ['c'],
          log: [{ seq: 1, item: 'c' }],
        });
      });

      it('that follows a group in time numbers on from it without a gap', async () => {
        const { store, log } = await open(make);
        for (const group of [['a', 'b'], ['c'], ['d', 'e', 'f']]) {
          await Promise.all(group.map((item) => store.write(async (tx) => tx.defer(log, item))));
        }
        expect(await log.readStored()).toEqual([...'abcdef'].map((item, index) => ({ seq: index + 1, item })));
      });

      it('keeps several items of one unit together and several channels apart', async () => {
        const { store, log } = await open(make);
        const other = new NumberedLog(store, log.repository, { inserts: false });
        await Promise.all([
          store.write(async (tx) => {
            tx.defer(log, 'a1');
            tx.defer(other, 'x1');
            tx.defer(log, 'a2');
          }),
          store.write(async (tx) => {
            tx.defer(other, 'y1');
            tx.defer(log, 'b1');
          }),
        ]);
        expect({ log: log.seals.flat(), other: other.seals.flat() }).toEqual({
          log: ['a1', 'a2', 'b1'],
          other: ['x1', 'y1'],
        });
      });
    });

    describe('a read', () => {
      it('sees a unit with its sealed items or not at all, at whatever moment it was asked for', async () => {
        const { store, put, rows, events, log } = await open(make);
        const states: { rows: number; sealed: number }[] = [];
        const look = async (tx: ReadTx) =>
          void states.push({ rows: (await rows.keys(tx)).length, sealed: await events.head(tx) });
        const calls: Promise<unknown>[] = [];
        for (let n = 0; n < 50; n++) {
          calls.push(store.write(async (tx) => put(tx, `k${n}`).then(() => tx.defer(log, `k${n}`))));
          calls.push(store.read(look));
          if (n % 10 === 9) await Promise.all(calls.splice(0));
        }
        expect(states.length).toBe(50);
        expect(states.filter(({ rows, sealed }) => rows !== sealed)).toEqual([]);
      });

      it('never sees what a refused unit wrote', async () => {
        const { store, put, rows } = await open(make);
        const refused = store.write(async (tx) => {
          await put(tx, 'a');
          throw new ProcessError('CONFLICT', 'no');
        });
        const keysRead = store.read((tx) => rows.keys(tx));
        await Promise.allSettled([refused]);
        expect(await keysRead).toEqual([]);
      });

      it('cannot write', async () => {
        const { store, put, keys } = await open(make);
        const write = (tx: ReadTx) => put(tx as WriteTx, 'a');
        await expect(store.read(write)).rejects.toBeInstanceOf(KernelError);
        expect(await keys()).toEqual([]);
      });

      it('that throws harms no other', async () => {
        const { store, put, keys } = await open(make);
        await store.write((tx) => put(tx, 'a'));
        const refused = store.read(() => Promise.reject(new ProcessError('CONFLICT', 'no')));
        const [outcome, keysRead] = await Promise.allSettled([refused, keys()]);
        expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'CONFLICT' } });
        expect(keysRead).toEqual({ status: 'fulfilled', value: ['a'] });
      });
    });

    describe('close', () => {
      it('finishes what was accepted and refuses what comes later', async () => {
        const { store, put, log, keys, openAgain } = await open(make);
        const accepted = Array.from({ length: 20 }, (_, n) =>
          store.write(async (tx) => put(tx, `k${n}`).then(() => tx.defer(log, `k${n}`))),
        );
        const keysRead = keys();
        const closed = store.close();
        const late = [store.write((tx) => put(tx, 'late')), store.read((tx) => log.repository.head(tx))];
        for (const call of late) await expect(call).rejects.toMatchObject({ code: 'KERNEL_CLOSED' });
        await closed;
        expect((await Promise.allSettled(accepted)).every(({ status }) => status === 'fulfilled')).toBe(true);
        expect(await keysRead).toBeInstanceOf(Array);
        const after = await openAgain();
        if (after !== undefined) expect(await after()).toHaveLength(20);
      });

      it('refuses every call afterwards with KERNEL_CLOSED', async () => {
        const { store, put } = await open(make);
        await store.close();
        await expect(store.write((tx) => put(tx, 'a'))).rejects.toMatchObject({ code: 'KERNEL_CLOSED' });
        await expect(store.read(async () => 1)).rejects.toMatchObject({ code: 'KERNEL_CLOSED' });
      });

      it('may be called twice, also while the first is under way', async () => {
        const { store, put } = await open(make);
        const accepted = Array.from({ length: 300 }, (_, n) => store.write((tx) => put(tx, `k${n}`)));
        await Promise.all([store.close(), store.close()]);
        await store.close();
        expect((await Promise.allSettled(accepted)).filter(({ status }) => status === 'rejected')).toEqual([]);
      });
    });
  });
}

/** The part of the contract that needs a second store on the same data. */
export function sharedStoreContract(
  name: string,
  make: () => Promise<StoreUnderTest & { createSecond: () => Store }>,
): void {
  describe(`${name}, with another store on the same data`, () => {
    it('shows the other what was resolved, and shows it nothing before', async () => {
      const { store, put, second, rows, log } = await openBoth(make);
      const keysInSecond = () => second.read((tx) => rows.keys(tx));
      await store.write(async (tx) => {
        await put(tx, 'a');
        tx.defer(log, 'a');
        expect(await keysInSecond()).toEqual([]);
      });
      expect((await keysInSecond()).map(({ id }) => id)).toEqual(['a']);
    });

    it('numbers the items of both without gap or repeat', async () => {
      const { store, second, log, events } = await openBoth(make);
      const theirs = new NumberedLog(second, events);
      await Promise.all(
        Array.from({ length: 100 }, (_, n) =>
          n % 2 === 0
            ? store.write(async (tx) => tx.defer(log, `a${n}`))
            : second.write(async (tx) => tx.defer(theirs, `b${n}`)),
        ),
      );
      const stored = await log.readStored();
      expect(stored.map(({ seq }) => seq)).toEqual(Array.from({ length: 100 }, (_, n) => n + 1));
      expect(new Set(stored.map(({ item }) => item)).size).toBe(100);
    });

    it('lets neither lose an update of the other', async () => {
      const { store, second, events } = await openBoth(make);
      const increment = (on: Store) =>
        on.write(async (tx) => {
          const seq = (await events.head(tx)) + 1;
          await events.insert(tx, { seq, type: 'node.started', at: seq, node: 'n', data: { name: '' } });
        });
      await Promise.all(Array.from({ length: 200 }, (_, n) => increment(n % 2 === 0 ? store : second)));
      expect(await store.read((tx) => events.head(tx))).toBe(200);
    });

    it('notifies of a commit of the other store, and not of its own', async () => {
      const { store, second, put } = await openBoth(make);
      let notified = 0;
      using _listening = store.onForeignCommit(() => notified++);
      await store.write((tx) => put(tx, 'own'));
      await second.read(async () => undefined);
      expect(notified).toBe(0);
      await second.write((tx) => put(tx, 'foreign'));
      await expect.poll(() => notified, { timeout: 10_000 }).toBeGreaterThan(0);
    });
  });
}

/** A channel that writes each item as an event, numbered on from the newest event. */
class NumberedLog implements Channel<string, readonly string[]> {
  readonly seals: string[][] = [];
  refusal: KernelError | undefined;
  onCommitted: (items: readonly string[]) => void = () => undefined;

  constructor(
    private readonly store: Store,
    readonly repository: EventRepository,
    private readonly options: { readonly inserts: boolean } = { inserts: true },
  ) {}

  async seal(tx: WriteTx, items: readonly string[]): Promise<readonly string[]> {
    if (this.refusal !== undefined) throw this.refusal;
    this.seals.push([...items]);
    if (!this.options.inserts) return items;
    let seq = await this.repository.head(tx);
    for (const name of items) {
      const event = { seq: ++seq, type: 'node.started', at: seq, node: 'n', data: { name } } as const;
      await this.repository.insert(tx, event);
    }
    return items;
  }

  committed(items: readonly string[]): void {
    this.onCommitted(items);
  }

  async readStored(): Promise<{ seq: number; item: unknown }[]> {
    const page = await this.store.read((tx) => this.repository.page(tx, 0, 1_000));
    return page.map(({ seq, data }) => ({ seq, item: 'name' in data ? data.name : undefined }));
  }
}

/** Runs `work`, and answers with the number of timers that were started for it. */
async function countTimers(work: () => Promise<unknown>): Promise<number> {
  const context = new AsyncLocalStorage<boolean>();
  let timers = 0;
  const hook = createHook({
    init: (_id, type) => {
      if (type === 'Timeout' && context.getStore() === true) timers++;
    },
  });
  hook.enable();
  try {
    await context.run(true, work);
  } finally {
    hook.disable();
  }
  return timers;
}

async function open(make: () => Promise<StoreUnderTest>) {
  const { store, events, rows, createSecond } = await make();
  await store.open();
  onTestFinished(() => store.close());
  const log = new NumberedLog(store, events);
  const keysOf = (on: Store) => async () => (await on.read((tx) => rows.keys(tx))).map(({ id }) => id).sort();
  return {
    store,
    events,
    rows,
    log,
    keys: keysOf(store),
    peek: async () => (await log.readStored()).map(({ item }) => item),
    put: async (tx: WriteTx, ...ids: string[]) => {
      for (const id of ids) await rows.insertKey(tx, { id, publicKey: id });
    },
    /** Opens another store on the same data and returns a function that reads its keys. */
    openAgain: async () => {
      if (createSecond === undefined) return undefined;
      const again = createSecond();
      await again.open();
      onTestFinished(() => again.close());
      return keysOf(again);
    },
  };
}

async function openBoth(make: () => Promise<StoreUnderTest & { createSecond: () => Store }>) {
  const underTest = await make();
  const opened = await open(async () => underTest);
  const second = underTest.createSecond();
  await second.open();
  onTestFinished(() => second.close());
  return { ...opened, second };
}
