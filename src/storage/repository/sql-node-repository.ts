import { isNull } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { NodeId } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { NodeLeaseState, NodeOffers, NodeRepository, NodeRow } from '../../kernel/node/node-repository.js';
import { nodes } from '../schema/execution.js';
import { prepareStatements } from '../statements/prepare-statements.js';
import type { Db } from '../statements/statement-connection.js';
import { nodeRows } from '../working-set/tables.js';

const statements = prepareStatements((db: Db) => ({
  live: db.select().from(nodes).where(isNull(nodes.endedAt)).prepare(),
}));

@injectable()
export class SqlNodeRepository implements NodeRepository {
  async find(tx: ReadTx, id: NodeId): Promise<NodeRow | undefined> {
    return nodeRows.get(tx, id);
  }

  async findAll(tx: ReadTx, ids: readonly NodeId[]): Promise<NodeRow[]> {
    return nodeRows.getAll(tx, ids);
  }

  async findLease(tx: ReadTx, id: NodeId): Promise<NodeLeaseState | undefined> {
    return nodeRows.get(tx, id);
  }

  async findLive(tx: ReadTx): Promise<NodeRow[]> {
    return statements.read(tx).live.all();
  }

  async put(tx: WriteTx, node: NodeRow): Promise<void> {
    await nodeRows.put(tx, node);
  }

  async renew(tx: WriteTx, id: NodeId, expiresAt: number): Promise<void> {
    const node = await nodeRows.get(tx, id);
    if (node !== undefined) await nodeRows.put(tx, { ...node, expiresAt, renewals: node.renewals + 1 });
  }

  async setOffers(tx: WriteTx, id: NodeId, offers: NodeOffers): Promise<void> {
    const node = await nodeRows.get(tx, id);
    if (node !== undefined) await nodeRows.put(tx, { ...node, offers });
  }
}
