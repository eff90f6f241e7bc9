import type Database from 'better-sqlite3';
import { eq, sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { CapabilityId, Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { CapabilityRecord } from '../../capability/capability-record.js';
import type { CapabilityRepository, HolderState } from '../../capability/capability-repository.js';
import { everyColumn } from './bind.js';
import { compiled } from './compiled.js';
import type { Db } from './connection.js';
import { capabilities } from './schema/capabilities.js';
import { processes } from './schema/processes.js';
import { done, forget, prepared, remembered } from './sqlite-tx.js';

const statements = prepared((db: Db, raw: Database.Database) => ({
  find: db
    .select()
    .from(capabilities)
    .where(eq(capabilities.id, sql.placeholder('id')))
    .prepare(),
  insert: compiled(raw, db.insert(capabilities).values(everyColumn(capabilities))),
  heldBy: db
    .select()
    .from(capabilities)
    .where(eq(capabilities.holder, sql.placeholder('holder')))
    .orderBy(capabilities.id)
    .prepare(),
  holder: db
    .select({
      exitedAt: processes.exitedAt,
      generation: processes.generation,
      authoritySince: processes.authoritySince,
    })
    .from(processes)
    .where(eq(processes.pid, sql.placeholder('pid')))
    .prepare(),
}));

@injectable()
export class SqliteCapabilityRepository implements CapabilityRepository {
  async find(tx: ReadTx, id: CapabilityId): Promise<CapabilityRecord | undefined> {
    return statements.read(tx).find.get({ id });
  }

  insert(tx: WriteTx, record: CapabilityRecord): Promise<void> {
    forget(tx, heldKey(record.holder));
    statements.write(tx).insert.run(record);
    return done;
  }

  async heldBy(tx: ReadTx, holder: Pid): Promise<CapabilityRecord[]> {
    return remembered(tx, heldKey(holder), () => statements.read(tx).heldBy.all({ holder }));
  }

  async holder(tx: ReadTx, pid: Pid): Promise<HolderState | undefined> {
    const found = remembered(tx, holderKey(pid), () => statements.read(tx).holder.get({ pid }));
    return found === undefined
      ? undefined
      : { live: found.exitedAt === null, generation: found.generation, authoritySince: found.authoritySince };
  }
}

function heldKey(holder: Pid): string {
  return `held ${holder}`;
}

export function holderKey(pid: Pid): string {
  return `holder ${pid}`;
}
