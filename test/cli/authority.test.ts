import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseDuration } from '../../src/cli/times.js';
import type { Capability, Rule } from '../../src/index.js';
import { builtPackage } from '../support/built-package.js';
import { refusalOf, runBuiltCli, runCli } from '../support/cli/run-cli.js';
import { openTeam, type Team } from '../support/cli/team.js';
import { refusal, tempFolder } from '../support/kernel.js';

let team: Team;
const run = (...args: string[]) => runCli([...args, '--store', team.store]);
/** Runs the built command on the team's store. */
const runBuilt = (...args: string[]) => runBuiltCli([...args, '--store', team.store]);
const idIn = (stdout: string) => stdout.split(' ')[0] ?? '';
const codeFor = async (pid: string, resource: string) =>
  (await team.kernel.capabilities.check(pid, 'call', resource)).code;

beforeAll(async () => {
  team = await openTeam();
  await builtPackage();
});
afterAll(() => team?.close());

describe('deny, ask, rules and lift beside a running kernel', () => {
  it('set rules that bind there at once, list them, and end them', async () => {
    const { stdout, exitCode } = await runBuilt(
      'deny',
      team.planner.slice(-8),
      'tool:search',
      'call',
      '--reason',
      'not now',
    );
    const deny = idIn(stdout);
    const about = `deny call on tool:search for ${team.planner} and everything spawned under it, "not now"`;
    expect({ stdout, exitCode }).toEqual({ stdout: `${deny} set: ${about}\n`, exitCode: 0 });
    const denied = await refusal(team.kernel.capabilities.require(team.researcher, 'call', 'tool:search'));
    expect(denied).toMatchObject({ facts: { code: 'DENY_RULE', denies: [deny] } });
    const ask = idIn((await run('ask', '*', 'tool:**', 'call', 'grant', '--expires-in', '10m')).stdout);
    const lines = (await run('rules')).stdout.trimEnd().split('\n');
    expect(lines.map((line) => line.split(/ {2,}/))).toEqual([
      ['ID', 'EFFECT', 'BINDS', 'RIGHTS', 'RESOURCE', 'ARGUMENTS', 'EXPIRES', 'REASON'],
      [deny.slice(-8), 'deny', team.planner.slice(-8), 'call', 'tool:search', 'any', '-', 'not now'],
      [ask.slice(-8), 'ask', '*', 'call,grant', 'tool:**', 'any', expect.stringMatching(/^in \d+m$/)],
    ]);
    const lifted = await run('lift', deny.slice(-8), '--reason', 'now');
    expect(lifted.stdout).toBe(`${deny} lifted: ${about}\n`);
    const pending = await refusal(team.kernel.capabilities.require(team.researcher, 'call', 'tool:search'));
    expect(pending.code).toBe('APPROVAL_PENDING');
    expect(JSON.parse((await run('lift', ask, '--json')).stdout)).toMatchObject({ id: ask, effect: 'ask', pid: '*' });
    expect(await codeFor(team.researcher, 'tool:search')).toBe('ALLOWED');
    const { items } = await team.kernel.audit.list({ action: 'capability.lift' });
    expect(items.map(({ payload }) => payload?.reason)).toEqual(['now', undefined]);
  });

  it('list those that bind one process: on it, on those it was spawned under, and on all', async () => {
    const { processes, capabilities } = team.kernel;
    const [parent, other] = [await processes.spawn(), await processes.spawn()];
    const child = await processes.spawnChild(parent, { onParentExit: 'detach' });
    const spec = { resource: 'tool:x', rights: ['call'] } as const;
    const set: string[] = [];
    for (const pid of [parent, other, child, '*']) set.push((await capabilities.deny(pid, spec)).id);
    await processes.exit(parent);
    const listed = async (pid: string) =>
      (JSON.parse((await run('rules', pid, '--json')).stdout) as Rule[]).map(({ id }) => id);
    expect(await listed(child)).toEqual([set[0], set[2], set[3]]);
    expect(await listed(other)).toEqual([set[1], set[3]]);
    expect(await listed('*')).toEqual([set[3]]);
    expect((await run('rules', child, '--full')).stdout).toContain(`${set[0]}  deny    ${parent}`);
    for (const id of set) await capabilities.lift(id);
  });

  it('refuse what there is not, and leave the rules as they were', async () => {
    const before = await team.kernel.capabilities.rules();
    expect(refusalOf(await run('rules', 'p_nobody'))).toEqual({ exitCode: 1, code: 'NO_SUCH_PROCESS' });
    expect(refusalOf(await run('lift', 'u_nothing'))).toEqual({ exitCode: 1, code: 'NO_SUCH_RULE' });
    // The expansion of an unquoted * by a shell.
    const file = await run('deny', 'README.md', 'tool:x', 'call');
    expect(refusalOf(file)).toEqual({ exitCode: 1, code: 'NO_SUCH_PROCESS' });
    expect(file.stderr).toContain("'*', with the quotes");
    const wrong = ['tool:x read', 'tool:x fly', 'x call', 'tool:x* call', 'fs:../x read'];
    for (const args of wrong) {
      expect(refusalOf(await run('deny', '*', ...args.split(' ')))).toEqual({ exitCode: 1, code: 'INVALID_INPUT' });
    }
    for (const args of ['tool:x', 'tool:x call --expires-in soon']) {
      expect(refusalOf(await run('ask', '*', ...args.split(' ')))).toEqual({ exitCode: 2, code: 'USAGE' });
    }
    expect(await team.kernel.capabilities.rules()).toEqual(before);
  });
});

describe('grant and revoke beside a running kernel', () => {
  it('give a process a capability that works there, and take it with all that came from it', async () => {
    const { processes, capabilities } = team.kernel;
    const pid = await processes.spawn();
    const { stdout } = await run('grant', pid.slice(-8), 'tool:mail', 'call', '--delegable');
    const id = idIn(stdout);
    expect(stdout).toBe(`${id} granted: call,grant on tool:mail to ${pid}\n`);
    const child = await processes.spawnChild(pid, { delegate: [{ resource: 'tool:mail', rights: ['call'] }] });
    await capabilities.require(child, 'call', 'tool:mail');
    const [, below] = await capabilities.list(child);
    expect((await run('revoke', id, '--reason', 'over')).stdout).toBe(
      `${id} revoked: 2 capabilities of 2 processes\n  with it ${below?.id}\n`,
    );
    expect((await refusal(capabilities.require(child, 'call', 'tool:mail'))).code).toBe('CAPABILITY_REVOKED');
    expect((await run('revoke', id)).stdout).toBe(`${id} had been revoked before\n`);
    expect(JSON.parse((await run('revoke', id, '--json')).stdout)).toEqual({
      capability: id,
      count: 0,
      holders: 0,
      sample: [],
    });
  });

  it('limit it in uses and in time', async () => {
    const pid = await team.kernel.processes.spawn();
    const before = Date.now();
    const { stdout } = await run('grant', pid, 'tool:mail', 'call', '--uses', '1', '--expires-in', '2h', '--json');
    const granted = JSON.parse(stdout) as Capability;
    expect(granted).toMatchObject({ holder: pid, uses: 1, delegable: false, rights: ['call'] });
    expect((granted.expiresAt ?? 0) - before).toBeGreaterThanOrEqual(7_200_000);
    expect((granted.expiresAt ?? 0) - Date.now()).toBeLessThanOrEqual(7_200_000);
    await team.kernel.capabilities.require(pid, 'call', 'tool:mail');
    expect(await codeFor(pid, 'tool:mail')).toBe('SPENT');
  });

  it('refuse what there is not, and give nothing', async () => {
    const { processes, capabilities } = team.kernel;
    const [pid, ended] = [await processes.spawn(), await processes.spawn()];
    await processes.exit(ended);
    const before = await capabilities.list(pid);
    expect(refusalOf(await run('grant', 'p_nobody', 'tool:x', 'call'))).toEqual({
      exitCode: 1,
      code: 'NO_SUCH_PROCESS',
    });
    expect(refusalOf(await run('grant', ended, 'tool:x', 'call'))).toEqual({
      exitCode: 1,
      code: 'PROCESS_TERMINATED',
    });
    for (const args of [
      ['tool:x', 'read'],
      ['nowhere', 'call'],
      ['tool:x', 'call', '--uses', '0'],
    ]) {
      expect(refusalOf(await run('grant', pid, ...args))).toEqual({ exitCode: 1, code: 'INVALID_INPUT' });
    }
    for (const args of [['tool:x'], ['tool:x', 'call', '--uses', 'x'], ['tool:x', 'call', '--expires-in', '0m']]) {
      expect(refusalOf(await run('grant', pid, ...args))).toEqual({ exitCode: 2, code: 'USAGE' });
    }
    expect(await capabilities.list(pid)).toEqual(before);
    const [held] = before;
    for (const id of ['c_nothing', held?.id.slice(-8) ?? '']) {
      expect(refusalOf(await run('revoke', id))).toEqual({ exitCode: 1, code: 'NO_SUCH_CAPABILITY' });
    }
  });
});

describe('explain', () => {
  it('says that a person is asked, because of which rule, and where the answer is given', async () => {
    const { processes, capabilities, approvals } = team.kernel;
    const pid = await processes.spawn({ capabilities: [{ resource: 'tool:mail', rights: ['call'] }] });
    const rule = await capabilities.ask(pid, { resource: 'tool:**', rights: ['call'], reason: 'mail goes out' });
    const asked = await run('explain', pid, 'call', 'tool:mail');
    expect(asked.stdout.split('\n')).toEqual([
      `${pid} must ask a person before it may call tool:mail (ASK)`,
      expect.stringMatching(new RegExp(`^ {2}by c_\\w+ call on tool:mail, held by ${pid}, from host$`)),
      `  rule: ${rule.id} ask call on tool:** for ${pid} and everything spawned under it, "mail goes out"`,
      `See what it waits for, and answer: procura approvals --pid ${pid}`,
      '',
    ]);
    const json = JSON.parse((await run('explain', pid, 'call', 'tool:mail', '--json')).stdout) as object;
    expect(json).toMatchObject({ effect: 'ask', asks: [rule.id] });
    const { facts } = await refusal(capabilities.require(pid, 'call', 'tool:mail'));
    await approvals.answer((facts as { approval: string }).approval, { decision: 'always', by: 'ann' });
    const { stdout } = await run('explain', pid, 'call', 'tool:mail');
    expect(stdout).toContain('may call tool:mail (ALLOWED)');
    expect(stdout).toContain('a person has approved it');
  });

  it('follows the links of the workspace that it is told of', async () => {
    const workspace = tempFolder();
    mkdirSync(join(workspace, 'secret'));
    symlinkSync('secret', join(workspace, 'open'));
    const pid = await team.kernel.processes.spawn({ capabilities: [{ resource: 'fs:open/**', rights: ['read'] }] });
    const explain = (...args: string[]) => run('explain', pid, 'read', 'fs:open/a', '--json', ...args);
    expect(JSON.parse((await explain()).stdout)).toMatchObject({ code: 'ALLOWED' });
    expect(JSON.parse((await explain('--workspace', workspace)).stdout)).toMatchObject({ code: 'NO_CAPABILITY' });
    const missing = await explain('--workspace', join(workspace, 'none'));
    expect(refusalOf(missing)).toEqual({ exitCode: 1, code: 'INVALID_PATH' });
  });

  it('names the rule that forbids something, and how to lift it', async () => {
    const pid = await team.kernel.processes.spawn();
    const rule = await team.kernel.capabilities.deny(pid, { resource: 'tool:mail', rights: ['call'] });
    const { stdout } = await run('explain', pid, 'call', 'tool:mail');
    expect(stdout).toContain(`rule: ${rule.id} deny call on tool:mail for ${pid} and everything spawned under it`);
    expect(stdout).toContain(`procura lift ${rule.id}\n`);
  });
});

describe('a time', () => {
  it('is a whole number with a unit, and nothing else', () => {
    expect(['30s', '10m', '2h', '7d'].map(parseDuration)).toEqual([30_000, 600_000, 7_200_000, 604_800_000]);
    for (const text of ['', '10', 'm', '0s', '-1m', '1.5h', '1e3s', '10 m', '10M', '9999999d']) {
      expect(parseDuration(text)).toBeUndefined();
    }
  });
});
