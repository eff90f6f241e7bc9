import { describe, expect, it } from 'vitest';
import type { Kernel, Pid } from '../../src/index.js';
import { tamperTables } from '../support/audit/tamper-tables.js';
import { refusal } from '../support/kernel.js';
import { kernelFixture, manualClock } from '../support/kernel-fixture.js';
import { rawSql } from '../support/storage/raw-sql.js';

const call = (resource: string) => ({ resource, rights: ['call'] }) as const;
const handedOn = (resource: string) => ({ ...call(resource), delegable: true }) as const;

/** A process with a capability of every status and every origin, its children, and one that it gave a capability to. */
async function oneOfEach() {
  const clock = manualClock();
  const { kernel, path } = await kernelFixture({ clock });
  const pid = await kernel.processes.spawn({ image: 'worker', capabilities: [call('tool:left')] });
  await kernel.processes.exec(pid, { image: 'worker' });
  await kernel.capabilities.grant(pid, handedOn('tool:live'));
  const revoked = await kernel.capabilities.grant(pid, handedOn('tool:revoked'));
  await kernel.capabilities.grant(pid, { ...call('tool:spent'), uses: 1 });
  await kernel.capabilities.grant(pid, { ...call('tool:counted'), uses: 2 });
  await kernel.capabilities.grant(pid, { ...call('tool:expired'), expiresAt: clock.now() + 1_000 });
  const given = await kernel.capabilities.grant(pid, handedOn('tool:given'));
  const taker = await kernel.processes.spawn({ image: 'worker' });
  await kernel.capabilities.transfer(pid, taker, given.id);
  await kernel.capabilities.require(pid, 'call', 'tool:spent');
  await kernel.capabilities.require(pid, 'call', 'tool:counted');
  const delegate = [call('tool:live'), call('tool:revoked')];
  const child = await kernel.as(pid).spawnChild({ image: 'worker', delegate });
  const keeper = await kernel.processes.spawn({ image: 'worker', capabilities: [call('tool:kept')] });
  await kernel.processes.exec(keeper, { image: 'worker', preserveCapabilities: true });
  await kernel.capabilities.revoke(revoked.id);
  const note = await kernel.memory.create(taker, { type: 'claim', payload: 1 });
  await kernel.processes.send(pid, { note });
  const ended = await kernel.as(pid).spawnChild({ image: 'worker' });
  const shared = await kernel.memory.create(pid, { type: 'claim', payload: 2 });
  await kernel.memory.share(pid, ended, shared, ['read', 'grant']);
  await kernel.as(ended).exit({ result: shared });
  const paused = await kernel.as(pid).spawnChild({ image: 'worker' });
  await kernel.processes.pause(paused);
  clock.advance(2_000);
  const { items } = await kernel.audit.list({ action: 'capability.require', outcome: 'ok' });
  return { kernel, path, pid, taker, child, keeper, ended, paused, seqs: items.map(({ seq }) => seq) };
}

async function answers({ kernel, seqs, ...rest }: Awaited<ReturnType<typeof oneOfEach>>) {
  const { pid, taker, child, keeper, ended, paused } = rest;
  const lineages = [];
  for (const each of [pid, taker, child, keeper, ended, paused]) lineages.push(await kernel.audit.lineage(each));
  return { lineages, traces: await Promise.all(seqs.map((seq) => kernel.audit.authority(seq))) };
}

async function statusesOf(kernel: Kernel, pid: Pid) {
  const { capabilities } = await kernel.audit.lineage(pid);
  return capabilities.map(({ resource, status, unrecorded }) => [resource, status, ...(unrecorded ? ['?'] : [])]);
}

describe('statuses', () => {
  it('are told for each process and each capability that it was given, in the order of the log', async () => {
    const { kernel, pid, taker, child, keeper, ended, paused } = await oneOfEach();
    const statuses = await statusesOf(kernel, pid);
    expect(statuses).toEqual([
      [`ns:process/${pid}/**`, 'live'],
      ['tool:left', 'ended'],
      ['tool:live', 'live'],
      ['tool:revoked', 'revoked'],
      ['tool:spent', 'spent'],
      ['tool:counted', 'live'],
      ['tool:expired', 'expired'],
      [expect.stringMatching(/^object:/), 'live'],
      [expect.stringMatching(/^object:/), 'live'],
      [`ns:process/${ended}/**`, 'live'],
    ]);
    // The same as the kernel decides by.
    const decided = new Map(
      (await kernel.capabilities.list(pid, { status: 'any', limit: 100 })).map(
        ({ id, status }) => [id, status] as const,
      ),
    );
    const { capabilities } = await kernel.audit.lineage(pid);
    expect(new Map(capabilities.map(({ id, status }) => [id, status]))).toEqual(decided);
    expect(await statusesOf(kernel, taker)).toContainEqual(['tool:given', 'live']);
    expect(await statusesOf(kernel, keeper)).toContainEqual(['tool:kept', 'live']);
    expect((await statusesOf(kernel, child)).slice(1)).toEqual([
      ['tool:live', 'live'],
      ['tool:revoked', 'revoked'],
    ]);
    expect((await statusesOf(kernel, ended)).map(([, status]) => status)).toEqual(['ended', 'ended']);
    const processes = await Promise.all([pid, ended, paused].map((each) => kernel.audit.lineage(each)));
    expect(processes.map(({ process }) => process.status)).toEqual(['runnable', 'exited', 'paused']);
    expect(await kernel.audit.verify()).toMatchObject({ ok: true });
  });

  const edits: [string, string][] = [
    ['that a process is paused', "UPDATE processes SET status = 'paused' WHERE status = 'runnable'"],
    ['that a process runs', "UPDATE processes SET status = 'running' WHERE status = 'paused'"],
    [
      'that ended processes live',
      "UPDATE processes SET status = 'running', exited_at = NULL, outcome = NULL WHERE exited_at > 0",
    ],
    ['when and how processes ended', "UPDATE processes SET status = 'killed', exited_at = 1 WHERE exited_at > 0"],
    ['that a parent is another one', 'UPDATE processes SET parent = NULL, born_under = NULL WHERE parent IS NOT NULL'],
    ['generations', 'UPDATE processes SET authority_since = 9, generation = 9'],
    ['generations of capabilities', 'UPDATE capabilities SET generation = 9'],
    ['that all is revoked', "UPDATE capabilities SET status = 'revoked'"],
    ['that nothing is revoked', "UPDATE capabilities SET status = 'live' WHERE status <> 'live'"],
    ['that uses are left', 'UPDATE capabilities SET uses = 7 WHERE uses = 0'],
    ['that no uses are left', 'UPDATE capabilities SET uses = 0'],
    ['that nothing expires', 'UPDATE capabilities SET expires_at = NULL WHERE expires_at > 0'],
    ['that all has expired', 'UPDATE capabilities SET expires_at = 1'],
    ['who holds what was given away', "UPDATE capabilities SET holder = 'p_other' WHERE resource = 'tool:given'"],
    ['what was derived', 'UPDATE capabilities SET parent = NULL WHERE parent IS NOT NULL'],
    ['what is inherited', "DELETE FROM capabilities WHERE own = 0 AND resource LIKE 'ns:process/%'"],
    ['what comes with a message, a share or a result', "DELETE FROM capabilities WHERE resource LIKE 'object:%'"],
    ['what comes with a spawn', "DELETE FROM capabilities WHERE resource = 'tool:left' OR parent IS NOT NULL"],
    ['that there are capabilities', 'DELETE FROM capabilities'],
  ];
  it.each(edits)('are the same when the tables lie about %s', async (_, statement) => {
    const fixture = await oneOfEach();
    const before = await answers(fixture);
    await tamperTables(fixture.path, statement);
    expect(await answers(fixture)).toEqual(before);
    expect(await fixture.kernel.audit.verify()).toMatchObject({ ok: true });
  });

  it('do not tell that the giver holds what it gave away when its row is set back', async () => {
    const fixture = await oneOfEach();
    const { kernel, path, pid, taker } = fixture;
    const before = await answers(fixture);
    await tamperTables(
      path,
      `UPDATE capabilities SET holder = '${pid}' WHERE holder = '${taker}' AND resource = 'tool:given'`,
    );
    expect(await statusesOf(kernel, pid)).not.toContainEqual(expect.arrayContaining(['tool:given']));
    expect(await answers(fixture)).toEqual(before);
  });

  it('mark a row that looks inherited, where the end of the child names another capability', async () => {
    const { kernel, path, pid, ended } = await oneOfEach();
    const columns =
      'holder, generation, own, resource, rights, grantable, max_depth, depth, status, granted_by, created_at';
    await tamperTables(
      path,
      `INSERT INTO capabilities (id, ${columns}) SELECT 'c_forged', ${columns} FROM capabilities
      WHERE holder = '${pid}' AND granted_by = '${ended}' AND own = 0 AND resource LIKE 'ns:process/%'`,
    );
    const forged = (await statusesOf(kernel, pid)).filter(([resource]) => resource === `ns:process/${ended}/**`);
    expect(forged).toEqual([
      [`ns:process/${ended}/**`, 'live'],
      [`ns:process/${ended}/**`, 'live', '?'],
    ]);
  });

  const refused: [string, string][] = [
    ['the row of a live process is gone', "DELETE FROM processes WHERE status = 'paused'"],
    ['a live process is said to have ended', "UPDATE processes SET status = 'exited' WHERE status = 'paused'"],
  ];
  it.each(refused)('are refused with AUDIT_BROKEN when %s', async (_, statement) => {
    const { kernel, path, paused } = await oneOfEach();
    expect((await kernel.audit.lineage(paused)).process.status).toBe('paused');
    await tamperTables(path, statement);
    expect((await refusal(kernel.audit.lineage(paused))).code).toBe('AUDIT_BROKEN');
  });

  it('of what a live process inherited from a pruned child are told by the log', async () => {
    const { kernel } = await kernelFixture();
    const pid = await kernel.processes.spawn({ image: 'worker' });
    const child = await kernel.as(pid).spawnChild({ image: 'worker' });
    await kernel.processes.exit(child);
    const inherited = `ns:process/${child}/**`;
    expect((await statusesOf(kernel, pid)).slice(1)).toEqual([[inherited, 'live']]);
    const { history } = await kernel.audit.lineage(pid);
    expect(await kernel.processes.prune({ endedBefore: Number.MAX_SAFE_INTEGER })).toEqual({ pruned: 1 });
    expect(
      (await kernel.capabilities.list(pid, { status: 'any', limit: 100 })).map(({ resource }) => resource),
    ).not.toContain(inherited);
    expect((await statusesOf(kernel, pid)).slice(1)).toEqual([[inherited, 'ended']]);
    expect((await kernel.audit.lineage(pid)).history).toEqual(history);
    expect(await kernel.audit.verify()).toMatchObject({ ok: true });
  });
});

interface NewerFacts {
  limits?: unknown;
  flags?: unknown;
  inherited?: unknown;
  heir?: unknown;
  readonly authority?: { limits?: unknown }[];
  readonly given?: { limits?: unknown }[];
}

/** Takes out of the bodies of records what older versions did not write. Such a log does not verify, but it can be read. */
async function removeNewerFacts(path: string): Promise<void> {
  const removed = new Set<string>();
  const records = await rawSql<{ seq: number; body: string }>(path, 'SELECT seq, body FROM audit_records ORDER BY seq');
  for (const { seq, body } of records) {
    const record = JSON.parse(body) as { action: string; facts?: NewerFacts };
    const remove = (name: keyof NewerFacts, from: NewerFacts | undefined) => {
      if (from?.[name] === undefined) return;
      removed.add(name);
      delete from[name];
    };
    const { facts } = record;
    const subject = facts?.heir;
    const parts = [facts, ...(facts?.authority ?? []), ...(facts?.given?.slice(0, 1) ?? [])];
    for (const part of parts) remove('limits', part);
    for (const name of ['inherited', 'heir', 'flags'] as const) remove(name, facts);
    const changed = JSON.stringify(record);
    if (record.action === 'capability.spend') {
      removed.add(record.action);
      await rawSql(path, 'DELETE FROM audit_records WHERE seq = ?', seq);
    } else if (changed !== body) {
      const alsoSubject = subject === undefined ? '' : ', subject = NULL';
      await rawSql(path, `UPDATE audit_records SET body = ?${alsoSubject} WHERE seq = ?`, changed, seq);
    }
  }
  expect([...removed].sort()).toEqual(['capability.spend', 'flags', 'heir', 'inherited', 'limits']);
}

describe('statuses of an older version', () => {
  it('are those of the tables, and marked, unless the log tells of an end', async () => {
    const fixture = await oneOfEach();
    const { kernel, path, pid, taker, child, keeper, ended } = fixture;
    const before = await answers(fixture);
    await removeNewerFacts(path);
    const after = await answers(fixture);
    const comparable = ({ lineages }: typeof before) =>
      lineages.map(({ process, ancestors, capabilities }) => {
        const unmarked = capabilities.map(({ unrecorded: _, ...capability }) => capability);
        return { process, ancestors, capabilities: unmarked.sort((a, b) => (a.id < b.id ? -1 : 1)) };
      });
    expect(comparable(after)).toEqual(comparable(before));
    const marked = async (each: Pid) => (await statusesOf(kernel, each)).filter(([, , mark]) => mark === '?').sort();
    expect(await marked(pid)).toEqual([
      [`ns:process/${ended}/**`, 'live', '?'],
      [expect.stringMatching(/^object:/), 'live', '?'],
      [expect.stringMatching(/^object:/), 'live', '?'],
      ['tool:counted', 'live', '?'],
      ['tool:expired', 'expired', '?'],
      ['tool:left', 'ended', '?'],
      ['tool:live', 'live', '?'],
      ['tool:spent', 'spent', '?'],
    ]);
    expect(await marked(taker)).toEqual([['tool:given', 'live', '?']]);
    expect(await marked(child)).toEqual([['tool:live', 'live', '?']]);
    expect(await marked(keeper)).toEqual([['tool:kept', 'live', '?']]);
    expect(await marked(ended)).toEqual([]);
    await tamperTables(path, 'DELETE FROM capabilities');
    expect(await statusesOf(kernel, taker)).toContainEqual(['tool:given', 'missing', '?']);
  });
});

describe('the index of records', () => {
  const hidden: [string, string][] = [
    ['the end that tells what was inherited', 'body LIKE \'%"inherited":%\''],
    ['a share', "body LIKE '%memory.share%'"],
    ['an attached object', "body LIKE '%message.send%'"],
    ['a spawn', "body LIKE '%process.spawnChild%'"],
    ['an exec', "body LIKE '%process.exec%'"],
  ];
  it.each(hidden)('is recomputed by verify, which notices when it hides %s', async (_, condition) => {
    const { kernel, path } = await oneOfEach();
    expect(await kernel.audit.verify()).toMatchObject({ ok: true });
    await tamperTables(path, `UPDATE audit_records SET subject = NULL WHERE ${condition}`);
    expect(await kernel.audit.verify()).toMatchObject({ ok: false, firstBad: { kind: 'EDITED' } });
  });

  it('has no part in what becomes of processes and capabilities', async () => {
    const fixture = await oneOfEach();
    const before = await answers(fixture);
    const changes = ['process.pause', 'capability.revoke', 'capability.spend'];
    for (const action of changes)
      await tamperTables(fixture.path, `UPDATE audit_records SET subject = NULL WHERE body LIKE '%${action}%'`);
    const after = await answers(fixture);
    const withoutHistory = ({ lineages }: typeof before) => lineages.map(({ history: _, ...rest }) => rest);
    expect([after.traces, withoutHistory(after)]).toEqual([before.traces, withoutHistory(before)]);
  });
});
