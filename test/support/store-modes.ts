import { AsyncLocalStorage } from 'node:async_hooks';
import { KernelClock } from '../../src/base/clock.js';
import { SeededEntropy, SystemEntropy } from '../../src/base/entropy.js';
import { TimeOrderedIds } from '../../src/base/ids.js';
import type { WriteTx } from '../../src/base/store.js';
import { SqliteStore } from '../../src/storage/sqlite/sqlite-store.js';
import { WriteUnit } from '../../src/storage/units/write-unit.js';
import { TableMemory } from '../../src/storage/working-set/table-memory.js';
import { WorkingSet } from '../../src/storage/working-set/working-set.js';
import { RecordedIds } from '../../src/testing/recorded-ids.js';

/**
 * The ways in which tests run the store, which must not make a difference: with its working set; with `memory-off`, where
 * every read is a query and every row is written at once; with `memory-dropped`, where everything is forgotten after each unit;
 * with `units-twice`, where each unit is run, taken back and run again, with the same times, ids and random bytes.
 */
export const storeModes = ['memory', 'memory-off', 'memory-dropped', 'units-twice'] as const;
export type StoreMode = (typeof storeModes)[number];

let mode: StoreMode = 'memory';

/** Sets the mode of all stores of this program. */
export function setStoreMode(next: StoreMode): void {
  mode = next;
}

export function storeModeOfEnvironment(): StoreMode {
  const named = process.env.PROCURA_TEST_STORE ?? 'memory';
  const found = storeModes.find((known) => known === named);
  if (found === undefined) throw new Error(`PROCURA_TEST_STORE is one of ${storeModes.join(', ')}`);
  return found;
}

/** Whether units run once: tests that count how often something was called skip where they do not. */
export const runsUnitsOnce = storeModeOfEnvironment() !== 'units-twice';

// biome-ignore lint/suspicious/noExplicitAny: the methods of several classes are replaced, each with its own arguments.
type Method = (this: any, ...args: any[]) => any;

function replaceMethod(owner: { prototype: object }, name: string, replace: (original: Method) => Method): void {
  const prototype = owner.prototype as Record<string, Method>;
  prototype[name] = replace(prototype[name] as Method);
}

/** Leaves a method out in the mode `memory-off`, or does `instead`. */
function leaveOut(owner: { prototype: object }, name: string, instead: Method = () => undefined): void {
  replaceMethod(owner, name, (original) => {
    return function (...args) {
      return mode === 'memory-off' ? instead.apply(this, args) : original.apply(this, args);
    };
  });
}

leaveOut(TableMemory, 'knowEmpty');
leaveOut(TableMemory, 'knowAbsent');
leaveOut(WorkingSet, 'setFact');
leaveOut(WorkingSet, 'fact', (_name: string, load: () => unknown) => load());
leaveOut(TableMemory, 'remember', function (_key: unknown, values: unknown) {
  return this.rowOf({ values, stored: values, row: undefined });
});

replaceMethod(WriteUnit, 'afterWrite', (original) => {
  return function () {
    original.call(this);
    if (mode !== 'memory-off') return;
    this.beforeQuery();
    this.workingSet.forget();
  };
});

replaceMethod(WorkingSet, 'keepUnit', (original) => {
  return function () {
    original.call(this);
    if (mode !== 'memory-dropped') return;
    this.flushGroup();
    this.forget();
  };
});

/** What a unit was given in its first run, to be given again in its second. */
interface Tape {
  readonly given: unknown[];
  next: number | undefined;
}

const tapes = new AsyncLocalStorage<Tape>();

function record(owner: { prototype: object }, name: string): void {
  replaceMethod(owner, name, (original) => {
    return function (...args) {
      const tape = tapes.getStore();
      if (tape?.next !== undefined && tape.next < tape.given.length) return tape.given[tape.next++];
      const value = tapes.exit(() => original.apply(this, args));
      tape?.given.push(value);
      return value;
    };
  });
}

record(KernelClock, 'now');
record(TimeOrderedIds, 'next');
record(RecordedIds, 'next');
record(SeededEntropy, 'bytes');
record(SystemEntropy, 'bytes');

replaceMethod(SqliteStore, 'write', (original) => {
  return function (work: (tx: WriteTx) => Promise<unknown>) {
    return original.call(this, (tx: WriteTx) => (mode === 'units-twice' ? runTwice(tx, work) : work(tx)));
  };
});

async function runTwice(tx: WriteTx, work: (tx: WriteTx) => Promise<unknown>): Promise<unknown> {
  const tape: Tape = { given: [], next: undefined };
  await tapes.run(tape, () => work(tx)).catch(() => undefined);
  takeBack(tx as WriteUnit);
  tape.next = 0;
  return tapes.run(tape, () => work(tx));
}

/** Takes back everything that a unit has done so far, so that it can begin again in the same transaction. */
function takeBack(tx: WriteUnit): void {
  tx.rollback();
  tx.deferred.length = 0;
  tx.followUps.length = 0;
  Object.assign(tx, { hasWritten: false, hasSavepoint: false });
}
