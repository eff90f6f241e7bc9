import { strict as assert } from 'node:assert';
import type { ReadTx } from '../../base/store.js';
import type { RowStatements } from '../working-set/row-statements.js';
import type { UnitAccess } from '../working-set/unit-access.js';
import type { WorkingSet } from '../working-set/working-set.js';

/**
 * A read unit that is answered from what the writer knows to be committed. One state is never mixed with another: a unit that
 * needs a statement, or that memory has changed under, is given up with OutdatedRead, and is to be run again on the database.
 */
export class MemoryReadUnit implements ReadTx, UnitAccess {
  readonly opaque = true;
  readonly workingSet = undefined;
  private readonly version: number;

  constructor(private readonly memory: WorkingSet) {
    this.version = memory.version;
  }

  get committed(): WorkingSet {
    if (this.memory.version !== this.version || this.memory.isInGroup) throw outdatedRead;
    return this.memory;
  }

  statements(): never {
    throw outdatedRead;
  }

  rowStatements(): RowStatements {
    throw outdatedRead;
  }

  beforeQuery(): void {
    throw outdatedRead;
  }

  beforeChange(): void {
    assert.fail('a read unit may not write');
  }

  afterWrite(): void {
    assert.fail('a read unit may not write');
  }
}

/** Makes a read unit run again, without memory. */
export class OutdatedRead extends Error {}

/** One for all: a stack for each would cost more than the read. */
const outdatedRead = new OutdatedRead('what was read from memory has changed, or is not known');
