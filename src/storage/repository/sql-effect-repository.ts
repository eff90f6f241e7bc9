import { eq, sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { NodeId } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { EffectRepository, EffectRow } from '../../kernel/effect/effect-repository.js';
import { effects } from '../schema/effects.js';
import { allColumns, compileWrite } from '../statements/compiled-writes.js';
import { prepareStatements } from '../statements/prepare-statements.js';
import type { Db, StatementConnection } from '../statements/statement-connection.js';

const isEffect = eq(effects.id, sql.placeholder('id'));

const statements = prepareStatements((db: Db, raw: StatementConnection) => ({
  insert: compileWrite(raw, db.insert(effects).values(allColumns(effects))),
  find: db.select().from(effects).where(isEffect).prepare(),
  ofNode: db
    .select()
    .from(effects)
    .where(eq(effects.node, sql.placeholder('node')))
    .orderBy(effects.id)
    .prepare(),
  nodes: db.selectDistinct({ node: effects.node }).from(effects).prepare(),
  remove: compileWrite(raw, db.delete(effects).where(raw.dialect.inList(effects.id, 'ids'))),
}));

@injectable()
export class SqlEffectRepository implements EffectRepository {
  async insert(tx: WriteTx, effect: EffectRow): Promise<void> {
    statements.write(tx).insert.run(effect);
  }

  async find(tx: ReadTx, id: string): Promise<EffectRow | undefined> {
    return statements.read(tx).find.get({ id });
  }

  async findByNode(tx: ReadTx, node: NodeId): Promise<EffectRow[]> {
    return statements.read(tx).ofNode.all({ node });
  }

  async findNodes(tx: ReadTx): Promise<NodeId[]> {
    return (await statements.read(tx).nodes.all()).map(({ node }) => node);
  }

  async remove(tx: WriteTx, ids: readonly string[]): Promise<void> {
    if (ids.length > 0) statements.write(tx).remove.run({ ids: JSON.stringify(ids) });
  }
}
