import { eq, sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { CapabilityId, Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { CapabilityRecord } from '../../capability/capability-record.js';
import type { CapabilityRepository, HolderState } from '../../capability/capability-repository.js';
import { everyColumn } from './bind.js';
import type { Db } from './connection.js';
import { capabilities } from './schema/capabilities.js';
import { processes } from './schema/processes.js';
import { prepared } from './sqlite-tx.js';

const statements = prepared((db: Db) => ({
  find: db
    .select()
    .from(capabilities)
    .where(eq(capabilities.id, sql.placeholder('id')))
    .prepare(),
  insert: db.insert(capabilities).values(everyColumn(capabilities)).prepare(),
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

  async insert(tx: WriteTx, record: CapabilityRecord): Promise<void> {
    statements.write(tx).insert.run({ ...record });
  }

  async heldBy(tx: ReadTx, holder: Pid): Promise<CapabilityRecord[]> {
    return statements.read(tx).heldBy.all({ holder });
  }

  async holder(tx: ReadTx, pid: Pid): Promise<HolderState | undefined> {
    const found = statements.read(tx).holder.get({ pid });
    return found === undefined
      ? undefined
      : { live: found.exitedAt === null, generation: found.generation, authoritySince: found.authoritySince };
  }
}
