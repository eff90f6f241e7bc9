import type { ReadTx, WriteTx } from '../../base/store.js';
import type { MaybePromise } from '../statements/maybe-promise.js';
import type { UnitAccess } from './unit-access.js';

/** A single thing to know about the database, under a name: the working set answers, or `load` queries it. */
export class Fact<T> {
  constructor(private readonly name: string) {}

  get(tx: ReadTx, load: () => MaybePromise<T>): MaybePromise<T> {
    const unit = tx as object as UnitAccess;
    if (unit.workingSet !== undefined) return unit.workingSet.fact(this.name, load);
    const known = unit.committed?.peekFact(this.name) as T | undefined;
    return known === undefined ? load() : known;
  }

  set(tx: WriteTx, value: T): void {
    (tx as object as UnitAccess).workingSet?.setFact(this.name, value);
  }
}
