import { describe, expect, it } from 'vitest';
import type { AuditFilter } from '../../src/audit/audit-filter.js';
import { verifyConsistency, verifyInclusion } from '../../src/audit/merkle/merkle-proof.js';
import { type AuditFixture, closedLog, entry, fill, openAudit } from '../support/audit/audit-fixture.js';
import { newStore } from '../support/kernel.js';
import { rawSql } from '../support/storage/raw-sql.js';

describe('list', () => {
  it('filters by every field, alone and together', async () => {
    const audit = await openAudit();
    const special = {
      actor: 'p_x',
      action: 'tool.call',
      target: 'o_1',
      resource: 'tool:send_mail',
      capability: 'c_1',
      decision: 'deny',
      outcome: 'refused',
    } as const;
    await audit.store.write(async (tx) => {
      for (let n = 0; n < 20; n++) audit.writer.append(tx, entry(n, { resource: 'tool:a' }));
      audit.writer.append(tx, entry(20, special));
    });
    const seqs = async (filter: object) => (await audit.log.list(filter)).items.map(({ seq }) => seq);
    for (const [field, value] of Object.entries(special)) expect(await seqs({ [field]: value })).toEqual([21]);
    expect(await seqs(special)).toEqual([21]);
    expect(await seqs({ ...special, actor: 'p_1' })).toEqual([]);
    const at = entry(0).at;
    expect(await seqs({ from: at + 18 })).toEqual([19, 20, 21]);
    expect(await seqs({ to: at + 1 })).toEqual([1, 2]);
    expect(await seqs({ from: at + 3, to: at + 4 })).toEqual([4, 5]);
  });

  it('of an empty log is an empty page', async () => {
    const audit = await openAudit();
    expect(await audit.log.list()).toEqual({ items: [] });
  });

  it('pages with a cursor that is the decimal seq', async () => {
    const audit = await openAudit({ path: await closedLog(25) });
    const seqs: number[] = [];
    for (let after: string | undefined = '0'; after !== undefined; ) {
      const page = await audit.log.list({ limit: 10, after });
      seqs.push(...page.items.map(({ seq }) => seq));
      expect(page.next).toBe(page.items.length === 10 ? String(seqs.at(-1)) : undefined);
      after = page.next;
    }
    expect(seqs).toEqual(Array.from({ length: 25 }, (_, n) => n + 1));
  });

  it('has no empty page before its end, and looks at 10,000 records where it has one', async () => {
    const audit = await openAudit();
    await audit.store.write(async (tx) => {
      for (let n = 0; n < 10_050; n++) {
        const special = n === 0 || n > 10_000 ? { capability: 'c_late' as never, actor: 'p_late' } : {};
        audit.writer.append(tx, entry(n, special));
      }
    });
    for (const filter of [{ capability: 'c_late' }, { capability: 'c_late', outcome: 'ok' as const }]) {
      const first = await audit.log.list(filter);
      expect([first.items.map(({ seq }) => seq), first.next]).toEqual([[1], '10000']);
      const rest = await audit.log.list({ ...filter, after: '10000' });
      expect(rest.items).toHaveLength(49);
      expect(rest).not.toHaveProperty('next');
      expect((await audit.log.list({ ...filter, after: '1', limit: 1 })).items.map(({ seq }) => seq)).toEqual([10_002]);
    }
    expect((await audit.log.list({ actor: 'p_late' })).items).toHaveLength(50);
  });

  it('goes from the newest to the oldest if asked, and ends below a number', async () => {
    const audit = await openAudit({ path: await closedLog(25) });
    const seqs = async (filter: AuditFilter) => (await audit.log.list(filter)).items.map(({ seq }) => seq);
    const all = await audit.log.list({ limit: 100 });
    for (const { actor, target } of all.items.slice(0, 5)) {
      const own = all.items.filter((record) => record.actor === actor && record.target === target);
      const ascending = own.map(({ seq }) => seq);
      const filter = { actor, ...(target === undefined ? {} : { target }) };
      expect(await seqs(filter)).toEqual(ascending);
      expect(await seqs({ ...filter, order: 'desc' })).toEqual([...ascending].reverse());
      expect(await seqs({ ...filter, before: 3 })).toEqual(ascending.filter((seq) => seq < 3));
    }
    const page = await audit.log.list({ order: 'desc', limit: 10 });
    expect(page.items.map(({ seq }) => seq)).toEqual([25, 24, 23, 22, 21, 20, 19, 18, 17, 16]);
    expect(await seqs({ order: 'desc', after: page.next ?? '', before: '12' })).toEqual([
      11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1,
    ]);
  });

  it.each([
    { actors: 'p_1' },
    { limit: 0 },
    { limit: 10_001 },
    { after: 'x' },
    { after: 5 },
    { before: 'x' },
    { order: 'oldest' },
    { outcome: 'fine' },
    { actor: '' },
    { from: 'yesterday' },
    [],
    'p_1',
    null,
    7,
  ])('refuses the filter %j', async (filter) => {
    const audit = await openAudit();
    await expect(audit.log.list(filter as AuditFilter)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  });
});

describe('get', () => {
  it('shows a record with its resource and payload', async () => {
    const audit = await openAudit();
    const id = await audit.store.write(async (tx) => {
      const more = { resource: 'tool:a', payload: { reason: 'because' }, facts: { n: 1 }, right: 'call', code: 'X' };
      return audit.writer.append(tx, entry(1, { ...more, generation: 2, subject: 'p_1' }));
    });
    const { hash, prev, ...record } = await audit.log.get(1);
    expect([hash, prev]).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/), '0'.repeat(64)]);
    expect(record).toEqual({
      ...entry(1),
      seq: 1,
      id,
      node: 'n_test',
      generation: 2,
      right: 'call',
      code: 'X',
      facts: { n: 1 },
      resource: 'tool:a',
      payload: { reason: 'because' },
    });
  });

  it('refuses a seq without a record, and values that are not a seq', async () => {
    const audit = await openAudit();
    await expect(audit.log.get(1)).rejects.toMatchObject({
      name: 'AuditError',
      code: 'NO_SUCH_RECORD',
      facts: { seq: 1 },
    });
    for (const seq of [0, -1, 0.5, Number.NaN, 1e308, 2 ** 63]) {
      await expect(audit.log.get(seq)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    }
  });
});

describe('erase', () => {
  it('drops resource and payload, keeps the proof, and records who asked and why', async () => {
    const path = await closedLog(10);
    const audit = await openAudit({ path });
    const before = await audit.log.get(4);
    await audit.log.erase(4, 'the customer asked');
    const { resource, ...members } = before;
    expect(resource).toBe('tool:t3');
    expect(await audit.log.get(4)).toEqual({ ...members, payload: null });
    expect(await audit.log.get(11)).toMatchObject({
      actor: 'host',
      via: 'host:tester',
      action: 'audit.erase',
      target: '4',
      outcome: 'ok',
      payload: { reason: 'the customer asked' },
    });
    expect(await audit.log.verify()).toMatchObject({ ok: true, erased: [4] });
    expect(verifyInclusion(await audit.log.prove(4), await audit.log.prove(1))).toBe(true);
    expect((await audit.log.list({ resource: 'tool:t3' })).items).toEqual([]);
  });

  it('can erase the reason of an erasure too', async () => {
    const audit = await openAudit({ path: await closedLog(10) });
    await audit.log.erase(1, 'first');
    await audit.log.erase(11, 'second');
    expect(await audit.log.verify()).toMatchObject({ ok: true, erased: [1, 11] });
  });

  it('refuses a record that has no payload, was erased before, or does not exist, and writes nothing', async () => {
    const audit = await openAudit({ path: await closedLog(10) });
    await audit.log.erase(4, 'once');
    await expect(audit.log.erase(2, 'none')).rejects.toMatchObject({ code: 'NO_PAYLOAD' });
    await expect(audit.log.erase(4, 'twice')).rejects.toMatchObject({ code: 'ALREADY_ERASED' });
    await expect(audit.log.erase(99, 'nothing')).rejects.toMatchObject({ code: 'NO_SUCH_RECORD' });
    await expect(audit.log.erase(1, 'x'.repeat(5_000))).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    expect(await audit.log.verify()).toMatchObject({ ok: true, size: 11, erased: [4] });
  });

  it('needs its own record: an erasure record for another seq does not explain a missing payload', async () => {
    const path = await closedLog(10);
    const audit = await openAudit({ path });
    await audit.log.erase(4, 'asked');
    await rawSql(path, 'DELETE FROM audit_payloads WHERE seq = 7');
    expect(await audit.log.verify()).toMatchObject({
      ok: false,
      firstBad: { seq: 7, kind: 'PAYLOAD_ERASED' },
      erased: [4],
    });
  });
});

describe('proofs', () => {
  it('show that a record is in the log that a checkpoint signed', async () => {
    const audit = await openAudit({ path: await closedLog(700, 600) });
    const checkpoint = await lastCheckpoint(audit);
    for (const seq of [1, 2, 255, 256, 257, 512, 513, 600]) {
      expect(verifyInclusion(await audit.log.prove(seq), checkpoint)).toBe(true);
    }
    expect(verifyInclusion(await audit.log.prove(650), checkpoint)).toBe(false);
    expect(await audit.log.prove(650)).toMatchObject({ size: 700 });
  });

  it('show that a later log begins with an earlier one', async () => {
    const audit = await openAudit({ path: await closedLog(600) });
    const first = await lastCheckpoint(audit);
    await fill(audit, 333);
    const second = await audit.log.checkpoint();
    const proof = await audit.log.proveConsistency(first.size, second.size);
    expect(verifyConsistency(proof, first.root, second.root)).toBe(true);
    expect(verifyConsistency(proof, second.root, first.root)).toBe(false);
    expect(proof.path.length).toBeLessThan(12);
  });

  it('are refused for records and sizes that the log has not reached', async () => {
    const audit = await openAudit({ path: await closedLog(5) });
    await expect(audit.log.prove(6)).rejects.toMatchObject({ code: 'NO_SUCH_RECORD' });
    await expect(audit.log.prove(3, { size: 2 })).rejects.toMatchObject({ code: 'INVALID_INPUT', facts: { asked: 2 } });
    await expect(audit.log.prove(3, { size: 6 })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    await expect(audit.log.proveConsistency(2, 6)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    await expect(audit.log.proveConsistency(4, 3)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    await expect(audit.log.proveConsistency(-1, 3)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  });
});

it('refuses options that it does not know', async () => {
  const audit = await openAudit({ path: await newStore() });
  await expect(audit.log.verify({ form: 1 } as object)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  await expect(audit.log.prove(1, { at: 1 } as object)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  const lines = audit.log.export({ payload: true } as object)[Symbol.asyncIterator]();
  await expect(lines.next()).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});

async function lastCheckpoint(audit: AuditFixture) {
  const checkpoint = await audit.store.read((tx) => audit.repository.lastCheckpoint(tx));
  if (checkpoint === undefined) throw new Error('no checkpoint');
  return checkpoint;
}
