import { describe, expect, it } from 'vitest';
import type { AuditRecord, Kernel } from '../../src/index.js';
import { tamperTables } from '../support/audit/tamper-tables.js';
import { waitForPending } from '../support/capability/pending-approvals.js';
import { callSearch, search, twoRoots } from '../support/capability/two-roots.js';
import { refusal } from '../support/kernel.js';

async function lastRecord(kernel: Kernel, action: string): Promise<AuditRecord> {
  const { items } = await kernel.audit.list({ action, outcome: 'ok' });
  const record = items.at(-1);
  if (record === undefined) throw new Error(`there is no record of ${action}`);
  return record;
}

describe('the index of records', () => {
  const edits: [string, string][] = [
    ['is emptied', "UPDATE audit_records SET subject = NULL WHERE body LIKE '%capability.transfer%'"],
    ['names another process', "UPDATE audit_records SET subject = 'p_other' WHERE body LIKE '%capability.transfer%'"],
    ['is added', "UPDATE audit_records SET subject = 'p_other' WHERE body LIKE '%process.spawn%'"],
    ['hides a revocation', "UPDATE audit_records SET subject = NULL WHERE body LIKE '%capability.revoke%'"],
    ['hides a grant', "UPDATE audit_records SET subject = NULL WHERE body LIKE '%capability.delegate%'"],
    ['hides an object', "UPDATE audit_records SET subject = NULL WHERE body LIKE '%memory.create%'"],
  ];
  it.each(edits)('is recomputed by verify, which notices when it %s', async (_, statement) => {
    const { kernel, giver, taker, path } = await twoRoots(search);
    const third = await kernel.processes.spawn({});
    const delegated = await kernel.capabilities.delegate(giver, taker, { ...callSearch, delegable: true });
    await kernel.capabilities.transfer(taker, third, delegated.id);
    await kernel.capabilities.revoke(delegated.id);
    await kernel.memory.create(giver, { type: 'evidence', payload: { n: 1 } });
    expect(await kernel.audit.verify()).toMatchObject({ ok: true });
    await tamperTables(path, statement);
    expect(await kernel.audit.verify()).toMatchObject({
      ok: false,
      firstBad: { kind: 'EDITED', seq: expect.any(Number) },
    });
  });
});

describe('authority', () => {
  it('is told by the log, whatever the tables say of capabilities and approvals that it tells of', async () => {
    const { kernel, giver, taker, path } = await twoRoots();
    const granted = await kernel.capabilities.grant(giver, { ...callSearch, rights: ['call', 'grant'] });
    const delegated = await kernel.capabilities.delegate(giver, taker, callSearch);
    const asked = kernel.as(taker).capabilities.request({ resource: 'tool:other', rights: ['call'] });
    const { id } = await waitForPending(kernel);
    await kernel.approvals.answer(id, { decision: 'once', by: 'ann' });
    const requested = await asked;
    await kernel.capabilities.require(taker, 'call', 'tool:search');
    const first = (await lastRecord(kernel, 'capability.require')).seq;
    await kernel.capabilities.require(taker, 'call', 'tool:other');
    const second = (await lastRecord(kernel, 'capability.require')).seq;
    const before = [await kernel.audit.authority(first), await kernel.audit.authority(second)];
    expect(before[0]?.chain.map(({ capability }) => capability)).toEqual([delegated.id, granted.id]);
    expect(before[1]).toMatchObject({ chain: [{ capability: requested.id }], root: { by: 'ann' } });
    await tamperTables(
      path,
      "UPDATE capabilities SET resource = 'tool:**', rights = 1, granted_by = 'host', parent = NULL",
    );
    await tamperTables(path, "UPDATE approvals SET answered_by = 'eve', decision = 'always', answered_at = 1");
    expect([await kernel.audit.authority(first), await kernel.audit.authority(second)]).toEqual(before);
    expect(await kernel.audit.verify()).toMatchObject({ ok: true });
  });

  it('follows the capability of an effect to the root grant of the host, with those who held it then', async () => {
    const { kernel, giver, taker } = await twoRoots(search);
    const third = await kernel.processes.spawn({});
    const delegated = await kernel.capabilities.delegate(giver, taker, { ...callSearch, delegable: true });
    await kernel.capabilities.require(taker, 'call', 'tool:search');
    const record = await lastRecord(kernel, 'capability.require');
    const root = { holder: giver, resource: 'tool:search', rights: ['call', 'grant'], grantedBy: 'host' };
    const trace = {
      record,
      actor: taker,
      chain: [
        {
          capability: delegated.id,
          holder: taker,
          resource: 'tool:search',
          rights: ['call', 'grant'],
          grantedBy: giver,
        },
        { capability: delegated.parent, ...root },
      ],
      root: 'host',
    };
    expect(await kernel.audit.authority(record.seq)).toEqual(trace);
    await kernel.capabilities.transfer(taker, third, delegated.id);
    expect(await kernel.audit.authority(record.seq)).toEqual(trace);
    await kernel.capabilities.require(third, 'call', 'tool:search');
    const later = await kernel.audit.authority((await lastRecord(kernel, 'capability.require')).seq);
    expect([later.actor, later.chain[0]?.holder]).toEqual([third, third]);
  });

  it('ends with the person who approved a request, and names the one who waived a rule', async () => {
    const { kernel, giver } = await twoRoots();
    const asked = kernel.as(giver).capabilities.request(callSearch);
    const { id } = await waitForPending(kernel);
    await kernel.approvals.answer(id, { decision: 'once', by: 'ann' });
    await asked;
    await kernel.capabilities.ask(giver, callSearch);
    const used = kernel.as(giver).capabilities.require('call', 'tool:search');
    const second = await waitForPending(kernel);
    await kernel.approvals.answer(second.id, { decision: 'always', by: 'bob', scope: 'resource' });
    await used;
    const { root, waivedBy } = await kernel.audit.authority((await lastRecord(kernel, 'capability.require')).seq);
    expect(root).toEqual({ approval: id, decision: 'once', by: 'ann', at: expect.any(Number) });
    expect(waivedBy).toEqual({
      approval: second.id,
      decision: 'always',
      scope: 'resource',
      by: 'bob',
      at: expect.any(Number),
    });
  });

  it('tells when the authority was the host itself, kinship, or none', async () => {
    const { kernel, giver } = await twoRoots();
    const child = await kernel.as(giver).spawnChild({});
    await kernel.as(giver).kill(child);
    const roots = async (action: string) => (await kernel.audit.authority((await lastRecord(kernel, action)).seq)).root;
    expect(await roots('process.spawn')).toBe('host');
    expect(await roots('process.kill')).toBe('kin');
    expect(await roots('process.spawnChild')).toBe('none');
  });

  it('of a refused call names the capabilities that nearly allowed it, up to their root grants', async () => {
    const { kernel, giver, taker } = await twoRoots(search);
    const delegated = await kernel.capabilities.delegate(giver, taker, {
      ...callSearch,
      constraints: { query: { eq: 'a' } },
    });
    await refusal(kernel.capabilities.require(taker, 'call', 'tool:search', { query: 'b' }));
    const [record] = (await kernel.audit.list({ action: 'capability.require', outcome: 'refused' })).items;
    expect(record).toMatchObject({ decision: 'deny', facts: { code: 'CONSTRAINT', nearest: [delegated.id] } });
    expect(await kernel.audit.authority(record?.seq ?? 0)).toMatchObject({
      actor: taker,
      chain: [],
      root: 'none',
      nearest: [
        [
          { capability: delegated.id, holder: taker, grantedBy: giver },
          { capability: delegated.parent, grantedBy: 'host' },
        ],
      ],
    });
  });

  it('refuses a record that does not exist', async () => {
    const { kernel, refused } = await twoRoots();
    expect((await refused(() => kernel.audit.authority(10_000))).code).toBe('NO_SUCH_RECORD');
    expect((await refusal(kernel.audit.authority(-1))).code).toBe('INVALID_INPUT');
  });
});
