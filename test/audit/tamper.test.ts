import { hash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { closedLog, fill, openAudit } from '../support/audit/audit-fixture.js';
import type { RawStatement } from '../support/storage/raw-connection.js';
import { changeRaw, rawSql } from '../support/storage/raw-sql.js';
import { isSqlite } from '../support/store-kind.js';

const swap = (a: number, b: number) => [
  `UPDATE audit_records SET seq = -1 WHERE seq = ${a}`,
  `UPDATE audit_records SET seq = ${a} WHERE seq = ${b}`,
  `UPDATE audit_records SET seq = ${b} WHERE seq = -1`,
];

const cutTail = ['DELETE FROM audit_records WHERE seq > 280', 'DELETE FROM audit_payloads WHERE seq > 280'];

const cases: [what: string, statements: (string | RawStatement)[], seq: number, kind: string][] = [
  ['an edited body', [`UPDATE audit_records SET body = replace(body, 'p_1', 'p_2') WHERE seq = 9`], 9, 'EDITED'],
  ['an edited header', [`UPDATE audit_records SET header = replace(header, 'seq', 'sqe') WHERE seq = 9`], 9, 'EDITED'],
  ['an edited hash', [`UPDATE audit_records SET hash = replace(hash, 'a', 'b') WHERE seq = 9`], 9, 'EDITED'],
  ['a hash in capitals', [`UPDATE audit_records SET hash = upper(hash) WHERE seq = 9`], 9, 'EDITED'],
  ['a deleted record', ['DELETE FROM audit_records WHERE seq = 9'], 9, 'MISSING'],
  ['two deleted records', ['DELETE FROM audit_records WHERE seq IN (9, 10)'], 9, 'MISSING'],
  ['a deleted first record', ['DELETE FROM audit_records WHERE seq = 1'], 1, 'MISSING'],
  ['two swapped records', swap(9, 12), 9, 'REORDERED'],
  ['a record before the first', ["INSERT INTO audit_records VALUES (0, '{}', '', '{}', NULL)"], 0, 'INSERTED'],
  ['a cut tail', cutTail, 281, 'TRUNCATED'],
  ['a cut tail with payloads gone', [...cutTail, 'DELETE FROM audit_payloads'], 281, 'TRUNCATED'],
  ['an emptied log', ['DELETE FROM audit_records', 'DELETE FROM audit_payloads'], 1, 'TRUNCATED'],
  ['an edited payload', [`UPDATE audit_payloads SET bytes = '{"n":1}' WHERE seq = 10`], 10, 'EDITED'],
  ['an edited salt', [['UPDATE audit_payloads SET salt = ? WHERE seq = 10', Buffer.from([0])]], 10, 'EDITED'],
  ['an added payload', [["INSERT INTO audit_payloads VALUES (11, ?, '{}')", Buffer.from([0])]], 11, 'EDITED'],
  ['a payload that nobody erased', ['DELETE FROM audit_payloads WHERE seq = 10'], 10, 'PAYLOAD_ERASED'],
  ['an edited subtree', [`UPDATE audit_nodes SET hash = replace(hash, '1', '2')`], 256, 'EDITED'],
  ['a deleted subtree', ['DELETE FROM audit_nodes'], 256, 'EDITED'],
  [
    'an edited signature',
    [`UPDATE audit_checkpoints SET signature = replace(signature, '1', '2')`],
    300,
    'BAD_SIGNATURE',
  ],
  ['a signature in capitals', ['UPDATE audit_checkpoints SET signature = upper(signature)'], 300, 'BAD_SIGNATURE'],
  ['a backdated checkpoint', ['UPDATE audit_checkpoints SET at = at - 1'], 300, 'BAD_SIGNATURE'],
  ['a checkpoint with a flag', ['UPDATE audit_checkpoints SET replaced = 1'], 300, 'BAD_SIGNATURE'],
  ['a checkpoint for another size', ['UPDATE audit_checkpoints SET size = 299'], 299, 'BAD_SIGNATURE'],
  ['an edited public key', [`UPDATE audit_keys SET public_key = public_key || ' '`], 300, 'BAD_SIGNATURE'],
  ['a deleted public key', ['DELETE FROM audit_keys'], 300, 'BAD_SIGNATURE'],
  ['another log id', ["UPDATE audit_log SET id = 'l_other'"], 1, 'INSERTED'],
];

// A column of text holds anything on SQLite.
if (isSqlite)
  cases.push(['a body that is no text', [`UPDATE audit_records SET body = x'ff00ff' WHERE seq = 9`], 9, 'EDITED']);

/** The highest bit that can be flipped: PostgreSQL refuses what is no text. */
const bitMax = isSqlite ? 7 : 6;
const bytesAsText = isSqlite ? 'CAST(? AS TEXT)' : "convert_from(?, 'UTF8')";

describe('verify', () => {
  it('finds nothing wrong with a log that nobody touched', async () => {
    const audit = await openAudit({ path: await closedLog(310, 300) });
    const report = await audit.log.verify();
    const { root } = await audit.log.prove(310, { size: 310 });
    expect(report).toEqual({ ok: true, checked: 310, size: 310, root, sealed: 310, erased: [] });
  });

  it.each(cases)('names the seq and the kind of %s', async (_, statements, seq, kind) => {
    const path = await closedLog(310, 300);
    await changeRaw(path, ...statements);
    const audit = await openAudit({ path });
    expect(await audit.log.verify()).toMatchObject({ ok: false, firstBad: { seq, kind } });
  });

  it('finds a record that was put between two others', async () => {
    const path = await closedLog(20, 0);
    const [{ header, body }] = (await rawSql(path, 'SELECT * FROM audit_records WHERE seq = 9')) as [RecordRow];
    const forged = header.replace('"seq":9', '"seq":10');
    await changeRaw(
      path,
      'UPDATE audit_records SET seq = -seq - 1 WHERE seq > 9',
      'UPDATE audit_records SET seq = -seq WHERE seq < 0',
      ['INSERT INTO audit_records VALUES (10, ?, ?, ?, NULL)', forged, hash('sha256', `\x00${forged}`, 'hex'), body],
    );
    const audit = await openAudit({ path });
    expect(await audit.log.verify()).toMatchObject({ ok: false, firstBad: { seq: 10, kind: 'INSERTED' } });
  });

  it('finds a log that was rewritten as a whole, from the checkpoint that was signed before', async () => {
    const path = await closedLog(20);
    await rewrite(path, 5);
    const audit = await openAudit({ path });
    expect(await audit.log.verify()).toMatchObject({ ok: false, firstBad: { seq: 20, kind: 'FORKED' } });
  });

  it('finds a rewritten log from the file beside the database when its own checkpoints are gone', async () => {
    const path = await closedLog(20);
    await rewrite(path, 5);
    await changeRaw(path, 'DELETE FROM audit_checkpoints', 'DELETE FROM audit_keys');
    const audit = await openAudit({ path });
    expect(await audit.log.verify()).toMatchObject({ ok: false, firstBad: { seq: 20, kind: 'FORKED' } });
  });

  it('finds a cut tail from a checkpoint that the caller has kept', async () => {
    const path = await closedLog(10, 0);
    const before = await openAudit({ path, sink: noSink });
    const checkpoint = await before.log.checkpoint();
    await before.store.close();
    await changeRaw(path, 'DELETE FROM audit_records WHERE seq > 8', 'DELETE FROM audit_payloads WHERE seq > 8');
    await changeRaw(path, 'DELETE FROM audit_checkpoints');
    const audit = await openAudit({ path, sink: noSink });
    expect(await audit.log.verify()).toMatchObject({ ok: true, size: 8 });
    expect(await audit.log.verify({ checkpoint })).toMatchObject({
      ok: false,
      firstBad: { seq: 9, kind: 'TRUNCATED' },
    });
  });

  it('refuses a checkpoint of another log', async () => {
    const other = await openAudit({ path: await closedLog(10, 10, 'other') });
    const checkpoint = await other.log.checkpoint();
    const audit = await openAudit({ path: await closedLog(10) });
    expect(await audit.log.verify({ checkpoint })).toMatchObject({ ok: false, firstBad: { kind: 'BAD_SIGNATURE' } });
    await audit.store.write((tx) =>
      audit.repository.insertKey(tx, { id: checkpoint.key, publicKey: other.signer.publicKey() }),
    );
    expect(await audit.log.verify({ checkpoint })).toMatchObject({ ok: false, firstBad: { seq: 10, kind: 'FORKED' } });
    await expect(audit.log.verify({ checkpoint: { ...checkpoint, root: 'x' } })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    });
  });

  it('checks only the records from the given one on', async () => {
    const path = await closedLog(310, 300);
    await changeRaw(path, `UPDATE audit_records SET body = '{}' WHERE seq = 9`);
    const audit = await openAudit({ path });
    expect(await audit.log.verify({ from: 10 })).toMatchObject({ ok: true, checked: 301 });
    expect(await audit.log.verify({ from: 9 })).toMatchObject({ ok: false, checked: 0, firstBad: { seq: 9 } });
  });

  it('accepts records, erasures and checkpoints that are written while it runs', async () => {
    const audit = await openAudit({ path: await closedLog(2_000) });
    const running = audit.log.verify();
    await Promise.all([audit.log.erase(1_900, 'asked'), audit.log.erase(1, 'asked'), fill(audit, 500)]);
    await audit.log.checkpoint();
    expect(await running).toMatchObject({ ok: true, checked: 2_000 });
  });
});

describe('signing', () => {
  it.each([
    ['was cut', cutTail, { seq: 281, kind: 'TRUNCATED' }],
    [
      'has another root than was signed',
      [`UPDATE audit_nodes SET hash = replace(hash, '1', '2')`],
      { seq: 300, kind: 'FORKED' },
    ],
  ])('is refused for a log that %s, and exporting is not', async (_, statements, facts) => {
    const path = await closedLog(310, 300);
    await changeRaw(path, ...statements);
    const audit = await openAudit({ path });
    await expect(audit.log.checkpoint()).rejects.toMatchObject({ code: 'AUDIT_BROKEN', facts });
    const lines = audit.log.export()[Symbol.asyncIterator]();
    expect(JSON.parse(String((await lines.next()).value))).toMatchObject({ kind: 'manifest' });
    await lines.return?.();
  });
});

describe('opening', () => {
  it('accepts a log that nobody touched', async () => {
    const audit = await openAudit({ path: await closedLog(310, 300) });
    await expect(audit.verifier.verifyTail()).resolves.toBeUndefined();
  });

  it.each([
    ['an edited tail', [`UPDATE audit_records SET body = '{}' WHERE seq = 305`], { seq: 305, kind: 'EDITED' }],
    ['a log that is shorter than its checkpoint', cutTail, { seq: 281, kind: 'TRUNCATED' }],
    [
      'a log that lost its last records',
      ['DELETE FROM audit_records WHERE seq > 308'],
      { seq: 309, kind: 'TRUNCATED' },
    ],
    ['a forged checkpoint', [`UPDATE audit_checkpoints SET root = root || '00'`], { seq: 300, kind: 'BAD_SIGNATURE' }],
  ])('refuses %s', async (_, statements, facts) => {
    const path = await closedLog(310, 300);
    await changeRaw(path, ...statements);
    const audit = await openAudit({ path });
    await expect(audit.verifier.verifyTail()).rejects.toMatchObject({
      name: 'AuditError',
      code: 'AUDIT_BROKEN',
      facts,
    });
  });

  it('verifies only the records after the last checkpoint', async () => {
    const path = await closedLog(310, 300);
    await changeRaw(path, `UPDATE audit_records SET body = '{}' WHERE seq = 9`);
    const audit = await openAudit({ path });
    await expect(audit.verifier.verifyTail()).resolves.toBeUndefined();
  });

  it('still lists and exports a broken log that is only read', async () => {
    const path = await closedLog(20);
    // PostgreSQL, which indexes members of the body, takes nothing but JSON.
    await rawSql(path, `UPDATE audit_records SET body = ?, header = 'y' WHERE seq = 9`, isSqlite ? 'x' : '"x"');
    const audit = await openAudit({ path, readOnly: true });
    const { items } = await audit.log.list();
    expect(items).toHaveLength(20);
    expect(items[8]).toMatchObject({ seq: 9, action: 'audit.unreadable', prev: '' });
    const lines: string[] = [];
    for await (const line of audit.log.export()) lines.push(line);
    expect(lines).toHaveLength(22);
  });
});

it('one flipped byte anywhere in the log makes verify fail', async () => {
  const path = await closedLog(300);
  const audit = await openAudit({ path });
  const columns = [
    ['audit_records', 'header'],
    ['audit_records', 'hash'],
    // PostgreSQL, which indexes members of the body, takes nothing but JSON.
    ...(isSqlite ? [['audit_records', 'body'] as const] : []),
    ['audit_payloads', 'salt'],
    ['audit_payloads', 'bytes'],
    ['audit_nodes', 'hash'],
    ['audit_checkpoints', 'log'],
    ['audit_checkpoints', 'root'],
    ['audit_checkpoints', 'key'],
    ['audit_checkpoints', 'signature'],
    ['audit_keys', 'id'],
    ['audit_keys', 'public_key'],
    ['audit_log', 'id'],
  ] as const;
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...columns),
      fc.nat(),
      fc.nat(),
      fc.nat(bitMax),
      async ([table, column], row, at, bit) => {
        const rows = await rawSql<Record<string, string | Uint8Array>>(path, `SELECT * FROM ${table}`);
        const { [column]: before = '', seq } = rows[row % rows.length] ?? {};
        const bytes = Buffer.from(before as string);
        const place = at % bytes.length;
        const value = typeof before === 'string' ? bytesAsText : '?';
        // Tables without a number have one row here.
        const where = seq === undefined ? '' : ` WHERE seq = ${seq}`;
        const write = () => rawSql(path, `UPDATE ${table} SET ${column} = ${value}${where}`, bytes);
        const flip = () => bytes.writeUInt8(bytes.readUInt8(place) ^ (1 << bit), place);
        flip();
        await write();
        try {
          expect((await audit.log.verify()).ok).toBe(false);
        } finally {
          flip();
          await write();
        }
      },
    ),
    { numRuns: 200 },
  );
  expect(await audit.log.verify()).toMatchObject({ ok: true });
});

const noSink = {
  append: async () => undefined,
  list: async function* () {
    yield* [];
  },
};

interface RecordRow {
  readonly seq: number;
  readonly header: string;
  readonly hash: string;
  readonly body: string;
}

/** Forges the chain from `seq` on, with every hash right. */
async function rewrite(path: string, seq: number): Promise<void> {
  const rows = await rawSql<RecordRow>(path, 'SELECT * FROM audit_records WHERE seq >= ? ORDER BY seq', seq - 1);
  let prev = rows.shift()?.hash ?? '';
  for (const row of rows) {
    const body = row.body.replace('process.spawn', 'process.other');
    const { log } = JSON.parse(row.header) as { log: string };
    const header = JSON.stringify({ body: hash('sha256', `\x02${body}`, 'hex'), log, prev, seq: row.seq });
    prev = hash('sha256', `\x00${header}`, 'hex');
    const change = 'UPDATE audit_records SET header = ?, hash = ?, body = ? WHERE seq = ?';
    await rawSql(path, change, header, prev, body, row.seq);
  }
}
