import type { ReadTx, WriteTx } from '../../base/store.js';
import type { UnitAccess } from '../working-set/unit-access.js';
import type { Db, StatementConnection } from './statement-connection.js';

/** The statements of a repository on the connection of the caller's unit. */
export function prepareStatements<T>(build: (db: Db, connection: StatementConnection) => T): {
  read(tx: ReadTx): T;
  write(tx: WriteTx): T;
  /** For statements that change rows which the working set may know: it forgets what it knows. */
  rewrite(tx: WriteTx): T;
} {
  return {
    read: (tx) => {
      const unit = tx as object as UnitAccess;
      unit.beforeQuery();
      return unit.statements(build);
    },
    write: (tx) => {
      const unit = tx as object as UnitAccess;
      unit.beforeChange();
      return unit.statements(build);
    },
    rewrite: (tx) => {
      const unit = tx as object as UnitAccess;
      unit.beforeChange();
      unit.workingSet?.forget();
      return unit.statements(build);
    },
  };
}
