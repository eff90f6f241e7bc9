import Database from 'better-sqlite3';
import { and, desc, eq, isNotNull } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { expect, it } from 'vitest';
import { auditRecords, hasTarget, isChangeRecord, statusTarget } from '../../src/storage/schema/audit.js';
import { migrate } from '../../src/storage/sqlite/migrate.js';
import { sqliteDialect } from '../../src/storage/statements/dialect.js';

const { memberOfBody } = sqliteDialect;

const lookups = [
  [
    'the status of a process',
    'audit_records_status',
    and(eq(statusTarget(sqliteDialect), 'p_1'), isNotNull(statusTarget(sqliteDialect))),
  ],
  [
    'what was done to a target',
    'audit_records_target',
    and(eq(memberOfBody('target'), 'p_1'), hasTarget(sqliteDialect)),
  ],
  ['what an actor did', 'audit_records_actor', eq(memberOfBody('actor'), 'p_1')],
  [
    'the changes of a capability',
    'audit_records_change',
    and(eq(memberOfBody('capability'), 'c_1'), isChangeRecord(sqliteDialect)),
  ],
] as const;
it.each(lookups)('%s is looked up by the index %s', (_, index, condition) => {
  const raw = new Database(':memory:');
  migrate(raw);
  const query = drizzle(raw).select().from(auditRecords).where(condition).orderBy(desc(auditRecords.seq)).toSQL();
  expect(raw.prepare(`EXPLAIN QUERY PLAN ${query.sql}`).all(query.params)).toMatchObject([
    { detail: `SEARCH audit_records USING INDEX ${index} (<expr>=?)` },
  ]);
});

it('a damaged body is indexed by nothing, and can be stored', () => {
  const raw = new Database(':memory:');
  migrate(raw);
  raw.prepare("INSERT INTO audit_records (seq, header, hash, body) VALUES (1, '', '', '{')").run();
  const found = drizzle(raw)
    .select()
    .from(auditRecords)
    .where(eq(memberOfBody('target'), 'p_1'))
    .all();
  expect(found).toEqual([]);
});
