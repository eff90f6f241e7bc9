import { and, asc, between, desc, eq, gt, isNotNull, lt, or, type SQL, sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import type {
  AuditKey,
  AuditRepository,
  NewRecord,
  RecordRange,
  RecordScan,
  StoredPayload,
  StoredRecord,
} from '../../audit/audit-repository.js';
import type { Checkpoint } from '../../audit/checkpoint/checkpoint.js';
import type { Subtree } from '../../audit/merkle/merkle-tree.js';
import type { Hash } from '../../base/json.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { Turns } from '../../base/turns.js';
import {
  auditCheckpoints,
  auditKeys,
  auditLog,
  auditNodes,
  auditPayloads,
  auditRecords,
  hasTarget,
  isChangeRecord,
  statusTarget,
} from '../schema/audit.js';
import { compileWrite } from '../statements/compiled-writes.js';
import { prepareStatements } from '../statements/prepare-statements.js';
import type { Db, StatementConnection } from '../statements/statement-connection.js';
import { Fact } from '../working-set/facts.js';

const placeholder = sql.placeholder;
const newest = new Fact<{ readonly seq: number; readonly hash: Hash } | null>('newest audit record');

const find = (db: Db, selected: SQL | undefined, order: typeof asc) => {
  const { seq, header, hash, body } = auditRecords;
  return db
    .select({ seq, header, hash, body })
    .from(auditRecords)
    .where(and(selected, gt(seq, placeholder('above')), lt(seq, placeholder('below'))))
    .orderBy(order(seq))
    .limit(placeholder('limit'))
    .prepare();
};

const findInOrder = (db: Db, selected: SQL | undefined) => ({
  asc: find(db, selected, asc),
  desc: find(db, selected, desc),
});

const records = prepareStatements((db: Db, raw: StatementConnection) => {
  const { seq, header, hash, body } = auditRecords;
  return {
    head: db.select({ seq, hash }).from(auditRecords).orderBy(desc(seq)).limit(1).prepare(),
    find: db
      .select({ seq, header, hash, body })
      .from(auditRecords)
      .where(eq(seq, placeholder('seq')))
      .prepare(),
    after: db
      .select({ seq, header, hash, body })
      .from(auditRecords)
      .where(gt(seq, placeholder('after')))
      .orderBy(asc(seq))
      .limit(placeholder('limit'))
      .prepare(),
    actor: findInOrder(db, eq(raw.dialect.memberOfBody('actor'), placeholder('actor'))),
    target: findInOrder(db, and(eq(raw.dialect.memberOfBody('target'), placeholder('target')), hasTarget(raw.dialect))),
    all: findInOrder(db, undefined),
    about: db
      .select({ seq, header, hash, body })
      .from(auditRecords)
      .where(eq(auditRecords.subject, placeholder('pid')))
      .orderBy(asc(seq))
      .prepare(),
    newestState: db
      .select({ seq, header, hash, body })
      .from(auditRecords)
      .where(and(eq(statusTarget(raw.dialect), placeholder('pid')), isNotNull(statusTarget(raw.dialect))))
      .orderBy(desc(seq))
      .limit(1)
      .prepare(),
    changes: db
      .select({ seq, header, hash, body })
      .from(auditRecords)
      .where(and(eq(raw.dialect.memberOfBody('capability'), placeholder('capability')), isChangeRecord(raw.dialect)))
      .orderBy(asc(seq))
      .prepare(),
    subjects: db
      .select({ seq, subject: auditRecords.subject })
      .from(auditRecords)
      .where(and(between(seq, placeholder('from'), placeholder('to')), isNotNull(auditRecords.subject)))
      .prepare(),
    hashes: db
      .select({ hash })
      .from(auditRecords)
      .where(between(seq, placeholder('from'), placeholder('to')))
      .orderBy(asc(seq))
      .prepare(),
    insert: compileWrite(
      raw,
      db.insert(auditRecords).values({
        seq: placeholder('seq'),
        header: placeholder('header'),
        hash: placeholder('hash'),
        body: placeholder('body'),
        subject: placeholder('subject'),
      }),
    ),
  };
});

const payloads = prepareStatements((db: Db, raw: StatementConnection) => {
  const { seq, salt, bytes } = auditPayloads;
  return {
    range: db
      .select({ seq, salt, bytes })
      .from(auditPayloads)
      .where(between(seq, placeholder('from'), placeholder('to')))
      .prepare(),
    of: db.select({ seq, salt, bytes }).from(auditPayloads).where(raw.dialect.inList(seq, 'seqs')).prepare(),
    newest: db.select({ seq }).from(auditPayloads).orderBy(desc(seq)).limit(1).prepare(),
    insert: compileWrite(
      raw,
      db
        .insert(auditPayloads)
        .values({ seq: placeholder('seq'), salt: placeholder('salt'), bytes: placeholder('bytes') }),
    ),
    delete: db
      .delete(auditPayloads)
      .where(eq(seq, placeholder('seq')))
      .returning({ seq })
      .prepare(),
  };
});

const nodes = prepareStatements((db: Db, raw: StatementConnection) => {
  const { level, index, hash } = auditNodes;
  return {
    range: db
      .select({ hash })
      .from(auditNodes)
      .where(and(eq(level, placeholder('level')), between(index, placeholder('from'), placeholder('to'))))
      .orderBy(asc(index))
      .prepare(),
    newest: db
      .select({ index })
      .from(auditNodes)
      .where(eq(level, placeholder('level')))
      .orderBy(desc(index))
      .limit(1)
      .prepare(),
    insert: compileWrite(
      raw,
      db
        .insert(auditNodes)
        .values({ level: placeholder('level'), index: placeholder('index'), hash: placeholder('hash') }),
    ),
  };
});

const checkpoints = prepareStatements((db: Db, raw: StatementConnection) => {
  const { size, key } = auditCheckpoints;
  return {
    logId: db.select().from(auditLog).limit(1).prepare(),
    insertLogId: compileWrite(raw, db.insert(auditLog).values({ id: placeholder('id') })),
    last: db.select().from(auditCheckpoints).orderBy(desc(size), desc(auditCheckpoints.at)).limit(1).prepare(),
    after: db
      .select()
      .from(auditCheckpoints)
      .where(or(gt(size, placeholder('size')), and(eq(size, placeholder('size')), gt(key, placeholder('key')))))
      .orderBy(asc(size), asc(key))
      .limit(placeholder('limit'))
      .prepare(),
    insert: compileWrite(
      raw,
      db
        .insert(auditCheckpoints)
        .values({
          size: placeholder('size'),
          key: placeholder('key'),
          log: placeholder('log'),
          root: placeholder('root'),
          at: placeholder('at'),
          replaced: placeholder('replaced'),
          signature: placeholder('signature'),
        })
        .onConflictDoNothing(),
    ),
    keys: db.select().from(auditKeys).orderBy(asc(auditKeys.id)).prepare(),
    insertKey: compileWrite(
      raw,
      db
        .insert(auditKeys)
        .values({ id: placeholder('id'), publicKey: placeholder('publicKey') })
        .onConflictDoNothing(),
    ),
  };
});

/**
 * The audit log in SQLite. Rows of the big tables are read as arrays: mapping them to objects would halve the speed.
 */
@injectable()
export class SqlAuditRepository implements AuditRepository {
  async logId(tx: ReadTx): Promise<string | undefined> {
    return (await checkpoints.read(tx).logId.get())?.id;
  }

  async insertLogId(tx: WriteTx, id: string): Promise<void> {
    checkpoints.write(tx).insertLogId.run({ id });
  }

  async head(tx: ReadTx): Promise<{ seq: number; hash: Hash } | undefined> {
    return (await newest.get(tx, async () => (await records.read(tx).head.get()) ?? null)) ?? undefined;
  }

  async find(tx: ReadTx, seq: number): Promise<StoredRecord | undefined> {
    return records.read(tx).find.get({ seq });
  }

  async recordsAfter(tx: ReadTx, after: number, limit: number): Promise<StoredRecord[]> {
    const rows = (await records.read(tx).after.values({ after, limit })) as [number, string, string, string][];
    return rows.map(([seq, header, hash, body]) => ({ seq, header, hash, body }));
  }

  async findRecords(tx: ReadTx, scan: RecordScan, { order, ...range }: RecordRange): Promise<StoredRecord[]> {
    const all = records.read(tx);
    switch (scan.by) {
      case 'all':
        return all.all[order].all(range);
      case 'actor':
        return all.actor[order].all({ ...range, actor: scan.actor });
      case 'target':
        return all.target[order].all({ ...range, target: scan.target });
    }
  }

  async recordsAbout(tx: ReadTx, pid: string): Promise<StoredRecord[]> {
    return records.read(tx).about.all({ pid });
  }

  async newestState(tx: ReadTx, pid: string): Promise<StoredRecord | undefined> {
    return records.read(tx).newestState.get({ pid });
  }

  async changesOf(tx: ReadTx, capability: string): Promise<StoredRecord[]> {
    return records.read(tx).changes.all({ capability });
  }

  async subjects(tx: ReadTx, from: number, to: number): Promise<ReadonlyMap<number, string>> {
    return new Map((await records.read(tx).subjects.values({ from, to })) as [number, string][]);
  }

  async hashes(tx: ReadTx, from: number, to: number): Promise<Hash[]> {
    return ((await records.read(tx).hashes.values({ from, to })) as [Hash][]).map(([hash]) => hash);
  }

  async insertRecords(tx: WriteTx, rows: readonly NewRecord[]): Promise<void> {
    const { insert } = records.write(tx);
    const turns = new Turns();
    for (const row of rows) {
      await turns.next();
      insert.run({ ...row, subject: row.subject ?? null });
    }
    const last = rows.at(-1);
    if (last !== undefined) newest.set(tx, { seq: last.seq, hash: last.hash });
  }

  async payloads(tx: ReadTx, from: number, to: number): Promise<StoredPayload[]> {
    const rows = (await payloads.read(tx).range.values({ from, to })) as [number, Buffer, string][];
    return rows.map(([seq, salt, bytes]) => ({ seq, salt, bytes }));
  }

  async payloadsOf(tx: ReadTx, seqs: readonly number[]): Promise<StoredPayload[]> {
    return payloads.read(tx).of.all({ seqs: JSON.stringify(seqs) });
  }

  async newestPayload(tx: ReadTx): Promise<number | undefined> {
    return (await payloads.read(tx).newest.get())?.seq;
  }

  async insertPayloads(tx: WriteTx, rows: readonly StoredPayload[]): Promise<void> {
    const { insert } = payloads.write(tx);
    for (const { seq, salt, bytes } of rows) insert.run({ seq, salt, bytes });
  }

  async deletePayload(tx: WriteTx, seq: number): Promise<boolean> {
    return (await payloads.write(tx).delete.all({ seq })).length > 0;
  }

  async nodes(tx: ReadTx, level: number, from: number, to: number): Promise<Hash[]> {
    return ((await nodes.read(tx).range.values({ level, from, to })) as [Hash][]).map(([hash]) => hash);
  }

  async newestNode(tx: ReadTx, level: number): Promise<number | undefined> {
    return (await nodes.read(tx).newest.get({ level }))?.index;
  }

  async insertNode(tx: WriteTx, { level, index }: Subtree, hash: Hash): Promise<void> {
    nodes.write(tx).insert.run({ level, index, hash });
  }

  async lastCheckpoint(tx: ReadTx): Promise<Checkpoint | undefined> {
    const row = await checkpoints.read(tx).last.get();
    return row === undefined ? undefined : toCheckpoint(row);
  }

  async checkpointsAfter(tx: ReadTx, after: { size: number; key: string }, limit: number): Promise<Checkpoint[]> {
    return (await checkpoints.read(tx).after.all({ ...after, limit })).map(toCheckpoint);
  }

  async insertCheckpoint(tx: WriteTx, checkpoint: Checkpoint): Promise<void> {
    checkpoints.write(tx).insert.run({ ...checkpoint, replaced: checkpoint.replaced ?? false });
  }

  async keys(tx: ReadTx): Promise<AuditKey[]> {
    return checkpoints.read(tx).keys.all();
  }

  async insertKey(tx: WriteTx, key: AuditKey): Promise<void> {
    checkpoints.write(tx).insertKey.run({ ...key });
  }
}

function toCheckpoint({ replaced, ...row }: typeof auditCheckpoints.$inferSelect): Checkpoint {
  return replaced ? { ...row, replaced } : row;
}
