import type Database from 'better-sqlite3';
import { and, asc, between, desc, eq, gt, or, sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import type {
  AuditKey,
  AuditRepository,
  NewRecord,
  StoredPayload,
  StoredRecord,
} from '../../audit/audit-repository.js';
import type { Checkpoint } from '../../audit/checkpoint/checkpoint.js';
import type { Subtree } from '../../audit/merkle/merkle-tree.js';
import type { Hash } from '../../audit/writing/hashing.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { auditCheckpoints, auditKeys, auditLog, auditNodes, auditPayloads, auditRecords } from '../schema/audit.js';
import type { Db } from '../sqlite/connection.js';
import { prepared } from '../sqlite/sqlite-tx.js';
import { compiled } from './compiled.js';

const p = sql.placeholder;
const records = prepared((db: Db, raw: Database.Database) => {
  const { seq, header, hash, body } = auditRecords;
  return {
    head: db.select({ seq, hash }).from(auditRecords).orderBy(desc(seq)).limit(1).prepare(),
    find: db
      .select({ seq, header, hash, body })
      .from(auditRecords)
      .where(eq(seq, p('seq')))
      .prepare(),
    after: db
      .select({ seq, header, hash, body })
      .from(auditRecords)
      .where(gt(seq, p('after')))
      .orderBy(asc(seq))
      .limit(p('limit'))
      .prepare(),
    about: db
      .select({ seq, header, hash, body })
      .from(auditRecords)
      .where(eq(auditRecords.subject, p('pid')))
      .orderBy(asc(seq))
      .prepare(),
    hashes: db
      .select({ hash })
      .from(auditRecords)
      .where(between(seq, p('from'), p('to')))
      .orderBy(asc(seq))
      .prepare(),
    insert: compiled(
      raw,
      db
        .insert(auditRecords)
        .values({ seq: p('seq'), header: p('header'), hash: p('hash'), body: p('body'), subject: p('subject') }),
    ),
  };
});

const payloads = prepared((db: Db, raw: Database.Database) => {
  const { seq, salt, bytes } = auditPayloads;
  return {
    range: db
      .select({ seq, salt, bytes })
      .from(auditPayloads)
      .where(between(seq, p('from'), p('to')))
      .prepare(),
    newest: db.select({ seq }).from(auditPayloads).orderBy(desc(seq)).limit(1).prepare(),
    insert: compiled(raw, db.insert(auditPayloads).values({ seq: p('seq'), salt: p('salt'), bytes: p('bytes') })),
    delete: compiled(raw, db.delete(auditPayloads).where(eq(seq, p('seq')))),
  };
});

const nodes = prepared((db: Db, raw: Database.Database) => {
  const { level, index, hash } = auditNodes;
  return {
    range: db
      .select({ hash })
      .from(auditNodes)
      .where(and(eq(level, p('level')), between(index, p('from'), p('to'))))
      .orderBy(asc(index))
      .prepare(),
    newest: db
      .select({ index })
      .from(auditNodes)
      .where(eq(level, p('level')))
      .orderBy(desc(index))
      .limit(1)
      .prepare(),
    insert: compiled(raw, db.insert(auditNodes).values({ level: p('level'), index: p('index'), hash: p('hash') })),
  };
});

const seals = prepared((db: Db, raw: Database.Database) => {
  const { size, key } = auditCheckpoints;
  return {
    logId: db.select().from(auditLog).limit(1).prepare(),
    insertLogId: compiled(raw, db.insert(auditLog).values({ id: p('id') })),
    last: db.select().from(auditCheckpoints).orderBy(desc(size), desc(auditCheckpoints.at)).limit(1).prepare(),
    after: db
      .select()
      .from(auditCheckpoints)
      .where(or(gt(size, p('size')), and(eq(size, p('size')), gt(key, p('key')))))
      .orderBy(asc(size), asc(key))
      .limit(p('limit'))
      .prepare(),
    insert: compiled(
      raw,
      db
        .insert(auditCheckpoints)
        .values({
          size: p('size'),
          key: p('key'),
          log: p('log'),
          root: p('root'),
          at: p('at'),
          replaced: p('replaced'),
          signature: p('signature'),
        })
        .onConflictDoNothing(),
    ),
    keys: db.select().from(auditKeys).orderBy(asc(auditKeys.id)).prepare(),
    insertKey: compiled(
      raw,
      db
        .insert(auditKeys)
        .values({ id: p('id'), publicKey: p('publicKey') })
        .onConflictDoNothing(),
    ),
  };
});

/** The audit log in SQLite. Rows of the big tables are read as bare values: mapping them would halve the speed. */
@injectable()
export class SqliteAuditRepository implements AuditRepository {
  async logId(tx: ReadTx): Promise<string | undefined> {
    return seals.read(tx).logId.get()?.id;
  }

  async insertLogId(tx: WriteTx, id: string): Promise<void> {
    seals.write(tx).insertLogId.run({ id });
  }

  async head(tx: ReadTx): Promise<{ seq: number; hash: Hash } | undefined> {
    return records.read(tx).head.get();
  }

  async find(tx: ReadTx, seq: number): Promise<StoredRecord | undefined> {
    return records.read(tx).find.get({ seq });
  }

  async recordsAfter(tx: ReadTx, after: number, limit: number): Promise<StoredRecord[]> {
    const rows = records.read(tx).after.values({ after, limit }) as [number, string, string, string][];
    return rows.map(([seq, header, hash, body]) => ({ seq, header, hash, body }));
  }

  async recordsAbout(tx: ReadTx, pid: string): Promise<StoredRecord[]> {
    return records.read(tx).about.all({ pid });
  }

  async hashes(tx: ReadTx, from: number, to: number): Promise<Hash[]> {
    return (records.read(tx).hashes.values({ from, to }) as [Hash][]).map(([hash]) => hash);
  }

  async insertRecords(tx: WriteTx, rows: readonly NewRecord[]): Promise<void> {
    const { insert } = records.write(tx);
    for (const row of rows) insert.run({ ...row, subject: row.subject ?? null });
  }

  async payloads(tx: ReadTx, from: number, to: number): Promise<StoredPayload[]> {
    const rows = payloads.read(tx).range.values({ from, to }) as [number, Buffer, string][];
    return rows.map(([seq, salt, bytes]) => ({ seq, salt, bytes }));
  }

  async newestPayload(tx: ReadTx): Promise<number | undefined> {
    return payloads.read(tx).newest.get()?.seq;
  }

  async insertPayloads(tx: WriteTx, rows: readonly StoredPayload[]): Promise<void> {
    const { insert } = payloads.write(tx);
    for (const { seq, salt, bytes } of rows) insert.run({ seq, salt, bytes });
  }

  async deletePayload(tx: WriteTx, seq: number): Promise<boolean> {
    return payloads.write(tx).delete.run({ seq }).changes > 0;
  }

  async nodes(tx: ReadTx, level: number, from: number, to: number): Promise<Hash[]> {
    return (nodes.read(tx).range.values({ level, from, to }) as [Hash][]).map(([hash]) => hash);
  }

  async newestNode(tx: ReadTx, level: number): Promise<number | undefined> {
    return nodes.read(tx).newest.get({ level })?.index;
  }

  async insertNode(tx: WriteTx, { level, index }: Subtree, hash: Hash): Promise<void> {
    nodes.write(tx).insert.run({ level, index, hash });
  }

  async lastCheckpoint(tx: ReadTx): Promise<Checkpoint | undefined> {
    const row = seals.read(tx).last.get();
    return row === undefined ? undefined : toCheckpoint(row);
  }

  async checkpointsAfter(tx: ReadTx, after: { size: number; key: string }, limit: number): Promise<Checkpoint[]> {
    return seals
      .read(tx)
      .after.all({ ...after, limit })
      .map(toCheckpoint);
  }

  async insertCheckpoint(tx: WriteTx, checkpoint: Checkpoint): Promise<void> {
    seals.write(tx).insert.run({ ...checkpoint, replaced: checkpoint.replaced ?? false });
  }

  async keys(tx: ReadTx): Promise<AuditKey[]> {
    return seals.read(tx).keys.all();
  }

  async insertKey(tx: WriteTx, key: AuditKey): Promise<void> {
    seals.write(tx).insertKey.run({ ...key });
  }
}

function toCheckpoint({ replaced, ...row }: typeof auditCheckpoints.$inferSelect): Checkpoint {
  return replaced ? { ...row, replaced } : row;
}
