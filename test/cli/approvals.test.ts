import { userInfo } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Approval, JsonValue, Pid } from '../../src/index.js';
import { builtPackage } from '../support/built-package.js';
import { refusalOf, runBuiltCli, runCli } from '../support/cli/run-cli.js';
import { openTeam, type Team } from '../support/cli/team.js';
import { eventually } from '../support/eventually.js';
import { openKernel, refusal, tempFolder } from '../support/kernel.js';

let team: Team;
const run = (...args: string[]) => runCli([...args, '--store', team.store]);
/** Runs the built command on the team's store. */
const runBuilt = (...args: string[]) => runBuiltCli([...args, '--store', team.store]);

beforeAll(async () => {
  team = await openTeam();
  await team.kernel.capabilities.ask(team.planner, { resource: 'tool:**', rights: ['call'], reason: 'we look at it' });
  await builtPackage();
});
afterAll(() => team?.close());

/** A child of the planner that may search after an approval. */
const searcher = () =>
  team.kernel.processes.spawnChild(team.planner, { delegate: [{ resource: 'tool:search', rights: ['call'] }] });
const search = (pid: Pid, args: JsonValue) => team.kernel.as(pid).capabilities.require('call', 'tool:search', args);

/** The pending approval of a process, as soon as there is one. */
const askedBy = (pid: Pid) =>
  eventually(async () => {
    const [approval] = await team.kernel.approvals.list({ pid });
    if (approval === undefined) throw new Error('it does not ask yet');
    return approval;
  });

/** A pending approval without a waiting call: the host got APPROVAL_PENDING. */
async function requestApproval(pid: Pid, args: JsonValue = {}): Promise<Approval> {
  const { code, facts } = await refusal(team.kernel.capabilities.require(pid, 'call', 'tool:search', args));
  expect(code).toBe('APPROVAL_PENDING');
  return team.kernel.approvals.get((facts as { approval: string }).approval);
}

const rowOf = (stdout: string, approval: Approval) =>
  stdout
    .split('\n')
    .find((line) => line.startsWith(approval.id.slice(-8)))
    ?.split(/ {2,}/);

describe('a call that waits in a running kernel', () => {
  it('is listed, shown and answered by another program, and goes through', async () => {
    const pid = await searcher();
    const parked = search(pid, { q: 'tides' });
    const approval = await askedBy(pid);
    const short = approval.id.slice(-8);
    expect(rowOf((await run('approvals')).stdout, approval)).toEqual([
      short,
      'pending',
      pid.slice(-8),
      team.planner.slice(-8),
      'call',
      'tool:search',
      '{"q":"tides"}',
      approval.capability,
      expect.stringMatching(/^\d+s$/),
    ]);
    const { stdout, exitCode } = await runBuilt('answer', short, 'once');
    expect({ stdout, exitCode }).toEqual({
      stdout: `${approval.id} answered by ${userInfo().username}: once\n${pid} may call tool:search once.\n`,
      exitCode: 0,
    });
    expect(await parked).toMatchObject({ effect: 'allow', code: 'ALLOWED', capability: approval.capability });
    expect((await run('approvals', '--pid', pid)).stdout.trimEnd().split('\n')).toHaveLength(1);
  });

  it('is refused by another program, with the name of who did it on record', async () => {
    const pid = await searcher();
    const parked = refusal(search(pid, { q: 'tides' }));
    const { id } = await askedBy(pid);
    expect((await runBuilt('answer', id, 'deny', '--by', 'Ann')).stdout).toContain(
      `${pid} may not call tool:search this time`,
    );
    expect((await parked).code).toBe('APPROVAL_DENIED');
    const { items } = await team.kernel.audit.list({ target: pid, action: 'approval.answer' });
    expect(items.map(({ payload }) => payload)).toEqual([{ by: 'Ann' }]);
  });

  it('may hand in a request for a capability, which is answered whole', async () => {
    const pid = await searcher();
    const parked = team.kernel.as(pid).capabilities.request({ resource: 'fs:out/**', rights: ['write'], uses: 2 });
    const approval = await askedBy(pid);
    const [, , , , right, resource, terms, capability] = rowOf((await run('approvals')).stdout, approval) ?? [];
    expect([right, resource, terms, capability]).toEqual(['hold write', 'fs:out/**', '{"uses":2}', '-']);
    const shown = (await run('approval', approval.id)).stdout;
    expect(shown).toMatch(/^wants to +hold write on fs:out\/\*\*$/m);
    expect(shown).toContain('it would get a new one');
    expect(refusalOf(await run('answer', approval.id, 'always', '--scope', 'tree'))).toEqual({
      exitCode: 1,
      code: 'INVALID_INPUT',
    });
    expect((await run('answer', approval.id, 'once')).stdout).toContain(
      `${pid} may hold write on fs:out/** from now on`,
    );
    expect(await parked).toMatchObject({ holder: pid, resource: 'fs:out/**', uses: 2 });
  });
});

describe('approvals', () => {
  it('lists by status and by process, whole ids with --full, one JSON array with --json', async () => {
    const pid = await searcher();
    const approvals = [
      await requestApproval(pid, { q: 1 }),
      await requestApproval(pid, { q: 2 }),
      await requestApproval(pid, { q: 3 }),
    ];
    const [answered, , last] = approvals.map(({ id }) => id);
    await team.kernel.approvals.answer(answered ?? '', { decision: 'always', scope: 'args', by: 'ann' });
    const listed = async (...args: string[]) =>
      (JSON.parse((await run('approvals', '--pid', pid, '--json', ...args)).stdout) as Approval[]).map(({ id }) => id);
    expect(await listed()).toEqual(approvals.slice(1).map(({ id }) => id));
    expect(await listed('--status', 'answered')).toEqual([answered]);
    const whole = (await run('approvals', '--full', '--status', 'any', '--pid', pid.slice(-8))).stdout;
    expect(whole).toContain(`${answered}  always (args) by ann  ${pid}  ${team.planner}`);
    expect(whole).toContain(`${last}  pending`);
    await team.kernel.processes.kill(pid);
    expect(await listed()).toEqual([]);
    expect(await listed('--status', 'void')).toEqual(approvals.slice(1).map(({ id }) => id));
  });

  it('refuses a status and a process that there are not', async () => {
    expect(refusalOf(await run('approvals', '--status', 'lost'))).toEqual({ exitCode: 1, code: 'INVALID_INPUT' });
    expect(refusalOf(await run('approvals', '--pid', 'p_nobody'))).toEqual({ exitCode: 1, code: 'NO_SUCH_PROCESS' });
  });
});

describe('approval', () => {
  it('shows who asks, why, with which arguments, and the chain of the capability', async () => {
    const parent = await team.kernel.processes.spawnChild(team.planner, {
      name: 'middle',
      delegate: [{ resource: 'tool:search', rights: ['call'], delegable: true }],
    });
    const pid = await team.kernel.processes.spawnChild(parent, {
      name: 'asker',
      delegate: [{ resource: 'tool:search', rights: ['call'], constraints: { q: { length: [0, 80] } } }],
    });
    const approval = await requestApproval(pid, { q: 'tides' });
    const [rule] = approval.rules;
    const [held, above, root] = approval.chain;
    const { stdout } = await run('approval', approval.id.slice(-6));
    const [fields = '', ...sections] = stdout.split('\n\n');
    expect(fields.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['id', approval.id],
      ['status', 'pending'],
      ['process', `${pid} asker created`],
      ['under', `${parent} middle created`],
      ['under', `${team.planner} planner created`],
      ['wants to', 'call tool:search'],
      [
        'because of',
        `${rule} ask call on tool:** for ${team.planner} and everything spawned under it, "we look at it"`,
      ],
      ['asked', new Date(approval.createdAt).toISOString()],
      ['answer', `procura answer ${approval.id} once|always|deny|deny-always [--scope args|resource|tree]`],
    ]);
    expect(sections).toEqual([
      'Arguments\n{\n  "q": "tides"\n}',
      [
        'Capability',
        `by ${held} call on tool:search, held by ${pid}, from ${parent}`,
        '  only with {"q":{"length":[0,80]}}',
        `by ${above} call,grant on tool:search, held by ${parent}, from ${team.planner}`,
        `by ${root} call,grant on tool:search, held by ${team.planner}, from host`,
        '',
      ].join('\n'),
    ]);
    const json = JSON.parse((await run('approval', approval.id, '--json')).stdout) as { chain: { id: string }[] };
    expect(json).toMatchObject({ approval: { id: approval.id, args: { q: 'tides' } } });
    expect(json.chain.map(({ id }) => id)).toEqual(approval.chain);
  });

  it('shows what is void, although its rule is lifted, until its process is pruned', async () => {
    const { processes, capabilities } = team.kernel;
    const pid = await processes.spawn({ capabilities: [{ resource: 'tool:search', rights: ['call'] }] });
    const rule = await capabilities.ask(pid, { resource: 'tool:search', rights: ['call'] });
    const { id } = await requestApproval(pid);
    await capabilities.lift(rule.id);
    await processes.kill(pid);
    const { stdout } = await run('approval', id);
    expect(stdout).toMatch(/^status +void$/m);
    expect(stdout).toMatch(new RegExp(`^process +${pid} base@1 killed$`, 'm'));
    expect(stdout).toMatch(new RegExp(`^because of +${rule.id} \\(lifted\\)$`, 'm'));
    expect(stdout).toMatch(/from host, ended$/m);
    expect(stdout).not.toContain('procura answer');
    expect(refusalOf(await run('answer', id, 'once'))).toEqual({ exitCode: 1, code: 'CONFLICT' });
    await processes.prune({ endedBefore: Date.now() + 60_000 });
    expect(refusalOf(await run('approval', id))).toEqual({ exitCode: 1, code: 'NO_SUCH_APPROVAL' });
  });

  it('refuses an id that there is not, and an ending that several have', async () => {
    expect(refusalOf(await run('approval', 'v_nothing'))).toEqual({ exitCode: 1, code: 'NO_SUCH_APPROVAL' });
    const store = path.join(tempFolder(), 'alike.db');
    let count = 0;
    const kernel = await openKernel({ store, ids: { next: (kind) => `${kind}_${1000 + count++}_ending` } });
    const pid = await kernel.processes.spawn({ capabilities: [{ resource: 'tool:x', rights: ['call'] }] });
    await kernel.capabilities.ask(pid, { resource: 'tool:x', rights: ['call'] });
    for (const n of [1, 2]) await refusal(kernel.capabilities.require(pid, 'call', 'tool:x', { n }));
    const refused = await runCli(['answer', '_ending', 'once', '--store', store]);
    expect(refusalOf(refused)).toEqual({ exitCode: 1, code: 'INVALID_INPUT' });
    const all = await kernel.approvals.list();
    for (const { id } of all) expect(refused.stderr).toContain(id);
    expect(all).toHaveLength(2);
  });
});

describe('answer', () => {
  it('answers for good with always and deny-always, as far as the scope says', async () => {
    const pid = await searcher();
    const first = await requestApproval(pid, { q: 1 });
    const told = (await run('answer', first.id, 'always', '--scope', 'resource', '--by', 'ann')).stdout;
    expect(told).toContain(`${pid} may call tool:search with any arguments that its capability allows from now on.`);
    expect(await team.kernel.capabilities.check(pid, 'call', 'tool:search', { q: 2 })).toMatchObject({
      code: 'ALLOWED',
    });
    const other = await searcher();
    const second = await requestApproval(other, { q: 1 });
    const answered = JSON.parse((await run('answer', second.id, 'deny-always', '--json')).stdout) as Approval;
    expect(answered).toMatchObject({ id: second.id, status: 'answered', decision: 'deny-always', scope: 'args' });
    expect(await team.kernel.capabilities.check(other, 'call', 'tool:search', { q: 1 })).toMatchObject({
      code: 'DENY_RULE',
    });
  });

  it('refuses to answer twice, and says who was first', async () => {
    const { id } = await requestApproval(await searcher());
    await run('answer', id, 'deny', '--by', 'ann');
    const again = await run('answer', id, 'once', '--by', 'bob');
    expect(refusalOf(again)).toEqual({ exitCode: 1, code: 'CONFLICT' });
    expect(again.stderr).toMatch(/was answered by ann at .+: deny\.\n/);
    expect(await team.kernel.approvals.get(id)).toMatchObject({ decision: 'deny', by: 'ann' });
  });

  it('refuses an unknown id, decision, scope and name, and leaves the question as it was', async () => {
    const { id } = await requestApproval(await searcher());
    expect(refusalOf(await run('answer', 'v_nothing', 'once'))).toEqual({ exitCode: 1, code: 'NO_SUCH_APPROVAL' });
    const wrong = [
      ['perhaps'],
      ['always', '--scope', 'world'],
      ['once', '--scope', 'tree'],
      ['once', '--by', ''],
      ['once', '--by', 'ann\u202e'],
    ];
    for (const args of wrong) {
      expect(refusalOf(await run('answer', id, ...args))).toEqual({ exitCode: 1, code: 'INVALID_INPUT' });
    }
    expect(refusalOf(await run('answer', id))).toEqual({ exitCode: 2, code: 'USAGE' });
    expect(await team.kernel.approvals.get(id)).toMatchObject({ status: 'pending' });
  });
});

describe('arguments that an agent wrote to deceive', () => {
  const nasty = {
    cmd: 'ls \u001b[2K\u001b[1A\u202egnp.exe\u200b\u3164\u009b31m\nrm -rf /',
    'key\u001b[2J\u2066': true,
    filler: 'x'.repeat(1_000_000),
  };

  it('are shown escaped and bounded, and it is said that there is more', async () => {
    const approval = await requestApproval(await searcher(), nasty);
    for (const args of [['approvals'], ['approval', approval.id]]) {
      const { stdout } = await run(...args);
      expect(stdout).toContain('ls \\u001b[2K\\u001b[1A\\u202egnp.exe\\u200b');
      expect(stdout.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/u);
      expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThan(500);
    }
    const { stdout } = await run('approval', approval.id);
    expect(stdout).toMatch(/^Arguments\nCUT: they are 1000\d{3} characters; --json prints them whole\.$/m);
    expect(stdout).toContain('"key\\u001b[2J\\u2066": true');
    expect(stdout.length).toBeLessThan(5_000);
  });

  it('are cut where they have many lines', async () => {
    const approval = await requestApproval(await searcher(), { list: Array.from({ length: 10_000 }, (_, n) => n) });
    const { stdout } = await run('approval', approval.id);
    expect(stdout).toMatch(/^CUT: they are \d+ characters/m);
    expect(stdout.split('\n').length).toBeLessThan(150);
  });

  it('are whole and still escaped as JSON', async () => {
    const approval = await requestApproval(await searcher(), nasty);
    const { stdout } = await run('approval', approval.id, '--json');
    expect(JSON.parse(stdout)).toMatchObject({ approval: { args: nasty } });
    expect(stdout.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/u);
  });
});
