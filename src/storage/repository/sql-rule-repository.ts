import { eq, sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { Pid, RuleId } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { RuleRecord } from '../../capability/rule/rule.js';
import type { RuleRepository } from '../../capability/rule/rule-repository.js';
import { rules } from '../schema/capabilities.js';
import { allColumns, compileWrite } from '../statements/compiled-writes.js';
import { prepareStatements } from '../statements/prepare-statements.js';
import type { Db, StatementConnection } from '../statements/statement-connection.js';
import { Fact } from '../working-set/facts.js';

/** The requested process, or any when none is requested. */
const isSetOn = sql`${rules.pid} = coalesce(${sql.placeholder('pid')}, ${rules.pid})`;
/** Not expired, and for all processes, or for one that lives or under which something spawned lives. */
const bindsAt = sql`(${rules.expiresAt} IS NULL OR ${rules.expiresAt} > ${sql.placeholder('now')})
  AND (${rules.n} = 0 OR EXISTS (SELECT 1 FROM processes AS target JOIN accounts AS account ON account.n = target.n
    WHERE target.n = ${rules.n} AND (target.exited_at IS NULL OR account.children_used > 0)))`;
/** Of rules of one time: as they were set. */
const inOrder = sql`${rules}.rowid`;

const hasRules = new Fact<boolean>('has rules');

const statements = prepareStatements((db: Db, raw: StatementConnection) => ({
  find: db
    .select()
    .from(rules)
    .where(eq(rules.id, sql.placeholder('id')))
    .prepare(),
  any: db.select({ id: rules.id }).from(rules).limit(1).prepare(),
  list: db.select().from(rules).where(isSetOn).orderBy(rules.createdAt, inOrder).prepare(),
  listBinding: db
    .select()
    .from(rules)
    .where(sql`${isSetOn} AND ${bindsAt}`)
    .orderBy(rules.createdAt, inOrder)
    .prepare(),
  findByTargets: db.select().from(rules).where(raw.dialect.inList(rules.n, 'numbers')).orderBy(rules.id).prepare(),
  insert: compileWrite(raw, db.insert(rules).values(allColumns(rules))),
  delete: compileWrite(raw, db.delete(rules).where(eq(rules.id, sql.placeholder('id')))),
}));

@injectable()
export class SqlRuleRepository implements RuleRepository {
  async find(tx: ReadTx, id: RuleId): Promise<RuleRecord | undefined> {
    return statements.read(tx).find.get({ id });
  }

  async insert(tx: WriteTx, rule: RuleRecord): Promise<void> {
    statements.write(tx).insert.run(rule);
    hasRules.set(tx, true);
  }

  async delete(tx: WriteTx, id: RuleId): Promise<void> {
    const { delete: remove, any } = statements.write(tx);
    remove.run({ id });
    hasRules.set(tx, (await any.get()) !== undefined);
  }

  async list(tx: ReadTx, pid?: Pid | '*'): Promise<readonly RuleRecord[]> {
    return statements.read(tx).list.all({ pid: pid ?? null });
  }

  async listBinding(tx: ReadTx, pid: Pid | '*' | undefined, now: number): Promise<readonly RuleRecord[]> {
    return statements.read(tx).listBinding.all({ pid: pid ?? null, now });
  }

  async findByTargets(tx: ReadTx, numbers: readonly number[]): Promise<readonly RuleRecord[]> {
    // Most stores have no rules: a burst of spawns then reads that once.
    const isEmpty = !(await hasRules.get(tx, async () => (await statements.read(tx).any.get()) !== undefined));
    return isEmpty ? [] : await statements.read(tx).findByTargets.all({ numbers: JSON.stringify([0, ...numbers]) });
  }
}
