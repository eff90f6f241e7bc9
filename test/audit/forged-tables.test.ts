import { describe, expect, it } from 'vitest';
import type { Kernel } from '../../src/index.js';
import { tamperTables } from '../support/audit/tamper-tables.js';
import { waitForPending } from '../support/capability/pending-approvals.js';
import { callSearch, search } from '../support/capability/two-roots.js';
import { refusal } from '../support/kernel.js';
import { kernelFixture } from '../support/kernel-fixture.js';

/** A family of three with capabilities of every origin, of which the youngest has used two. */
async function family() {
  const { kernel, path } = await kernelFixture();
  const grandparent = await kernel.processes.spawn({ image: 'worker', capabilities: [{ ...search, maxDepth: 8 }] });
  const parent = await kernel.as(grandparent).spawnChild({ image: 'worker', delegate: [search] });
  const child = await kernel.as(parent).fork({ image: 'worker', delegate: [callSearch] });
  const helper = await kernel.as(child).spawnChild({ image: 'worker' });
  await kernel.processes.exit(helper, { result: { n: 1 } });
  const own = await kernel.memory.create(parent, { type: 'evidence', payload: { n: 1 } });
  await kernel.memory.share(parent, child, own, ['read']);
  await kernel.as(parent).send(child, { own });
  const asked = kernel.as(child).capabilities.request({ resource: 'tool:other', rights: ['call'] });
  await kernel.approvals.answer((await waitForPending(kernel)).id, { decision: 'once', by: 'ann' });
  await asked;
  await kernel.capabilities.require(child, 'call', 'tool:search');
  await kernel.capabilities.require(child, 'call', 'tool:other');
  const { items } = await kernel.audit.list({ action: 'capability.require', outcome: 'ok' });
  const seqs = items.map(({ seq }) => seq);
  return { kernel, path, grandparent, parent, child, helper, seqs };
}

async function answers(kernel: Kernel, seqs: readonly number[]) {
  return Promise.all(seqs.map((seq) => kernel.audit.authority(seq)));
}

describe('answers from the log', () => {
  it('tell everything that a process was given, each grant on record', async () => {
    const { kernel, grandparent, parent, child, helper, seqs } = await family();
    const lineage = await kernel.audit.lineage(child);
    expect(lineage.process).toMatchObject({ pid: child, spawnedBy: parent, image: 'worker@1', status: 'runnable' });
    expect(lineage.ancestors.map(({ pid, spawnedBy }) => [pid, spawnedBy])).toEqual([
      [parent, grandparent],
      [grandparent, 'host'],
    ]);
    expect(lineage.capabilities.map(({ resource }) => resource).sort()).toEqual([
      `ns:process/${child}/**`,
      `ns:process/${helper}/**`,
      expect.stringMatching(/^object:/),
      expect.stringMatching(/^object:/),
      'tool:other',
      'tool:search',
    ]);
    expect(
      lineage.capabilities.filter(({ unrecorded, chain }) => unrecorded || chain.some((l) => l.unrecorded)),
    ).toEqual([]);
    expect(lineage.history.map(({ action }) => action)).toEqual(['approval.request', 'approval.answer']);
    const [first, second] = await answers(kernel, seqs);
    expect(first).toMatchObject({
      chain: [
        { holder: child, resource: 'tool:search', rights: ['call'], grantedBy: parent },
        { holder: parent, resource: 'tool:search', rights: ['call', 'grant'], grantedBy: grandparent },
        { holder: grandparent, resource: 'tool:search', rights: ['call', 'grant'], grantedBy: 'host' },
      ],
      root: 'host',
    });
    expect(second).toMatchObject({ chain: [{ resource: 'tool:other' }], root: { by: 'ann' } });
    expect(await kernel.audit.lineage(helper)).toMatchObject({
      process: { status: 'exited', outcome: 'completed', exitedAt: expect.any(Number) },
    });
    expect(await kernel.audit.verify()).toMatchObject({ ok: true });
  });

  const edits: [string, ...string[]][] = [
    ['the resources', "UPDATE capabilities SET resource = 'tool:**' WHERE resource LIKE 'tool:%'"],
    ['rights and givers', "UPDATE capabilities SET rights = 1, granted_by = 'host' WHERE resource LIKE 'tool:%'"],
    ['the parents', 'UPDATE capabilities SET parent = NULL WHERE parent IS NOT NULL'],
    ['the holders', "UPDATE capabilities SET holder = 'p_other' WHERE resource LIKE 'tool:%'"],
    ['that they are there', "DELETE FROM capabilities WHERE resource LIKE 'tool:%'"],
    ['that the answer was given', 'DELETE FROM approvals'],
    ['whose question it was', "UPDATE approvals SET pid = 'p_other', answered_by = 'eve'"],
    ['where processes came from', 'UPDATE processes SET born_under = NULL, parent = NULL, created_at = 1'],
    ['their paths', "UPDATE processes SET path = '[]'"],
    ['image and goal', "UPDATE processes SET image = 'other@1', goal = 'o_other'"],
  ];
  it.each(edits)('do not change when the tables are made to lie about %s', async (_, ...statements) => {
    const { kernel, path, child, helper, seqs } = await family();
    const before = [await answers(kernel, seqs), await kernel.audit.lineage(child)];
    const ended = await kernel.audit.lineage(helper);
    await tamperTables(path, ...statements);
    const broken = await kernel.audit.lineage(child);
    expect([await answers(kernel, seqs), broken]).toEqual(before);
    expect(await kernel.audit.lineage(helper)).toEqual(ended);
  });

  it('mark a capability that no record tells of, and do not list one that another process holds', async () => {
    const { kernel, path, parent, child } = await family();
    const columns =
      'holder, generation, own, resource, rights, grantable, max_depth, depth, status, granted_by, created_at';
    const values = columns.replace('resource', "'tool:forged'");
    await tamperTables(
      path,
      `INSERT INTO capabilities (id, ${columns}) SELECT 'c_forged', ${values} FROM capabilities
      WHERE holder = '${child}' AND resource = 'tool:search'`,
      `UPDATE capabilities SET holder = '${child}' WHERE holder = '${parent}' AND resource = 'tool:search'`,
    );
    const { capabilities } = await kernel.audit.lineage(child);
    expect(capabilities.filter(({ unrecorded }) => unrecorded === true)).toMatchObject([{ id: 'c_forged' }]);
    expect(capabilities.filter(({ resource }) => resource === 'tool:search')).toHaveLength(1);
  });

  it('tell that a capability was revoked, and that one lives whose row is gone', async () => {
    const { kernel, path, grandparent, child } = await family();
    const statuses = async () => {
      const { capabilities } = await kernel.audit.lineage(child);
      return capabilities.flatMap(({ resource, status }) => (resource.startsWith('tool:') ? [[resource, status]] : []));
    };
    const [root] = (await kernel.audit.lineage(grandparent)).capabilities.filter(
      (held) => held.resource === 'tool:search',
    );
    await kernel.capabilities.revoke(root?.id ?? '');
    await tamperTables(
      path,
      "UPDATE capabilities SET status = 'live' WHERE resource = 'tool:search'",
      "DELETE FROM capabilities WHERE resource = 'tool:other'",
    );
    expect((await statuses()).sort()).toEqual([
      ['tool:other', 'live'],
      ['tool:search', 'revoked'],
    ]);
  });

  it('tell how a process ended, also when its row says something else or is gone', async () => {
    const { kernel, path, helper } = await family();
    const before = await kernel.audit.lineage(helper);
    await tamperTables(
      path,
      `UPDATE processes SET status = 'killed', outcome = NULL, exited_at = 1 WHERE pid = '${helper}'`,
    );
    expect(await kernel.audit.lineage(helper)).toEqual(before);
    await tamperTables(path, `DELETE FROM processes WHERE pid = '${helper}'`);
    expect(await kernel.audit.lineage(helper)).toEqual(before);
  });

  const forgedProcesses: [string, string][] = [
    ['is said to have ended', "UPDATE processes SET status = 'killed' WHERE pid = '$child'"],
    ['is gone while it lives', "DELETE FROM processes WHERE pid = '$child'"],
    ['was never spawned', "UPDATE processes SET pid = 'p_forged' WHERE pid = '$child'"],
  ];
  it.each(forgedProcesses)('are refused with AUDIT_BROKEN for a process that %s', async (_, statement) => {
    const { kernel, path, child } = await family();
    await tamperTables(path, statement.replace('$child', child));
    const pid = statement.includes('p_forged') ? 'p_forged' : child;
    expect((await refusal(kernel.audit.lineage(pid))).code).toBe('AUDIT_BROKEN');
    expect((await refusal(kernel.audit.lineage('p_none'))).code).toBe('NO_SUCH_PROCESS');
  });

  const hidden: [string, string][] = [
    ['a spawn', "body LIKE '%process.spawnChild%'"],
    ['a fork', "body LIKE '%process.fork%'"],
  ];
  it.each(hidden)('stay the same when the index hides %s, and verify notices', async (_, condition) => {
    const { kernel, path, child, helper, seqs } = await family();
    const look = async () => {
      const lineages = [await kernel.audit.lineage(child), await kernel.audit.lineage(helper)];
      return [await answers(kernel, seqs), lineages];
    };
    const before = await look();
    await tamperTables(path, `UPDATE audit_records SET subject = NULL WHERE ${condition}`);
    expect(await look()).toEqual(before);
    expect(await kernel.audit.verify()).toMatchObject({ ok: false, firstBad: { kind: 'EDITED' } });
  });

  it('name those who hold a capability after transfers, whatever its row says', async () => {
    const { kernel, path } = await kernelFixture();
    const [first, second] = [
      await kernel.processes.spawn({ capabilities: [search] }),
      await kernel.processes.spawn({}),
    ];
    const [held] = (await kernel.audit.lineage(first)).capabilities.filter(
      ({ resource }) => resource === 'tool:search',
    );
    await kernel.capabilities.transfer(first, second, held?.id ?? '');
    await kernel.capabilities.require(second, 'call', 'tool:search');
    const { items } = await kernel.audit.list({ action: 'capability.require' });
    const seq = items[0]?.seq ?? 0;
    const before = [await kernel.audit.authority(seq), await kernel.audit.lineage(second)];
    expect(before[0]).toMatchObject({ chain: [{ holder: second, grantedBy: 'host' }], root: 'host' });
    await tamperTables(path, `UPDATE capabilities SET holder = '${first}' WHERE resource = 'tool:search'`);
    expect([await kernel.audit.authority(seq), await kernel.audit.lineage(second)]).toEqual(before);
  });
});
