import type Database from 'better-sqlite3';
import { and, eq, gte, lte, sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { CapabilityId, Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { CapabilityRecord } from '../../capability/capability-record.js';
import type { CapabilityRepository, HolderState } from '../../capability/capability-repository.js';
import type { ResourceKind } from '../../capability/resource-kind.js';
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
  heldBetween: db
    .select()
    .from(capabilities)
    .where(
      and(
        eq(capabilities.holder, sql.placeholder('holder')),
        gte(capabilities.resource, sql.placeholder('from')),
        lte(capabilities.resource, sql.placeholder('to')),
      ),
    )
    .orderBy(capabilities.resource, capabilities.id)
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

  insert(tx: WriteTx, records: readonly CapabilityRecord[]): Promise<void> {
    const { insert } = statements.write(tx);
    for (const record of records) {
      forget(tx, heldKey(record.holder, kindOf(record.resource)));
      insert.run(record);
    }
    return done;
  }

  async heldBy(tx: ReadTx, holder: Pid, kind?: ResourceKind): Promise<readonly CapabilityRecord[]> {
    if (kind === undefined) return statements.read(tx).heldBetween.all({ holder, from: '', to: afterAll });
    return remembered(tx, heldKey(holder, kind), () =>
      statements.read(tx).heldBetween.all({ holder, from: `${kind}:`, to: `${kind}:${afterAll}` }),
    );
  }

  async heldOn(tx: ReadTx, holder: Pid, resource: string): Promise<readonly CapabilityRecord[]> {
    return statements.read(tx).heldBetween.all({ holder, from: resource, to: resource });
  }

  async holder(tx: ReadTx, pid: Pid): Promise<HolderState | undefined> {
    const found = remembered(tx, holderKey(pid), () => statements.read(tx).holder.get({ pid }));
    return found === undefined
      ? undefined
      : { live: found.exitedAt === null, generation: found.generation, authoritySince: found.authoritySince };
  }
}

/** Sorts behind every resource of its kind. */
const afterAll = '\u{10ffff}';

function heldKey(holder: Pid, kind: string): string {
  return `held ${holder} ${kind}`;
}

function kindOf(resource: string): string {
  return resource.slice(0, resource.indexOf(':'));
}

export function holderKey(pid: Pid): string {
  return `holder ${pid}`;
}
