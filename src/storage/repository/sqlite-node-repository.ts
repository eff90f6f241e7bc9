import type Database from 'better-sqlite3';
import { eq, isNull, sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { NodeId } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { NodeLeaseState, NodeOffers, NodeRepository, NodeRow } from '../../kernel/node/node-repository.js';
import { nodes } from '../schema/execution.js';
import type { Db } from '../sqlite/connection.js';
import { prepareStatements } from '../sqlite/sqlite-tx.js';
import { allColumns, compileWrite, updateColumns } from '../sqlite/write-statements.js';

const statements = prepareStatements((db: Db, raw: Database.Database) => ({
  find: db
    .select()
    .from(nodes)
    .where(eq(nodes.id, sql.placeholder('id')))
    .prepare(),
  findLease: db
    .select({ epoch: nodes.epoch, endedAt: nodes.endedAt })
    .from(nodes)
    .where(eq(nodes.id, sql.placeholder('id')))
    .prepare(),
  renew: compileWrite(
    raw,
    db
      .update(nodes)
      .set({ expiresAt: sql`${sql.placeholder('expiresAt')}`, renewals: sql`${nodes.renewals} + 1` })
      .where(eq(nodes.id, sql.placeholder('id'))),
  ),
  setOffers: compileWrite(
    raw,
    db
      .update(nodes)
      .set(updateColumns(nodes, ['offers']))
      .where(eq(nodes.id, sql.placeholder('id'))),
  ),
  live: db.select().from(nodes).where(isNull(nodes.endedAt)).prepare(),
  put: compileWrite(
    raw,
    db
      .insert(nodes)
      .values(allColumns(nodes))
      .onConflictDoUpdate({
        target: nodes.id,
        set: updateColumns(nodes, [
          'name',
          'epoch',
          'expiresAt',
          'leaseMs',
          'renewals',
          'offers',
          'host',
          'startedAt',
          'endedAt',
        ]),
      }),
  ),
}));

@injectable()
export class SqliteNodeRepository implements NodeRepository {
  async find(tx: ReadTx, id: NodeId): Promise<NodeRow | undefined> {
    return statements.read(tx).find.get({ id });
  }

  async findLease(tx: ReadTx, id: NodeId): Promise<NodeLeaseState | undefined> {
    return statements.read(tx).findLease.get({ id });
  }

  async findLive(tx: ReadTx): Promise<NodeRow[]> {
    return statements.read(tx).live.all();
  }

  async put(tx: WriteTx, node: NodeRow): Promise<void> {
    statements.write(tx).put.run(node);
  }

  async renew(tx: WriteTx, id: NodeId, expiresAt: number): Promise<void> {
    statements.write(tx).renew.run({ id, expiresAt });
  }

  async setOffers(tx: WriteTx, id: NodeId, offers: NodeOffers): Promise<void> {
    statements.write(tx).setOffers.run({ id, offers });
  }
}
