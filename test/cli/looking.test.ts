import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { builtPackage } from '../support/built-package.js';
import { refusalOf, runBuiltCli, runCli } from '../support/cli/run-cli.js';
import { openTeam, type Team } from '../support/cli/team.js';

let team: Team;
const run = (...args: string[]) => runCli([...args, '--store', team.store]);
/** Runs the built command on the team's store. */
const runBuilt = (...args: string[]) => runBuiltCli([...args, '--store', team.store]);

beforeAll(async () => {
  team = await openTeam();
  await builtPackage();
});
afterAll(() => team?.close());

describe('ps', () => {
  it('lists processes with short pids that other commands understand', async () => {
    const { stdout, exitCode } = await runBuilt('ps');
    const lines = stdout.trimEnd().split('\n');
    expect(lines[0]?.split(/ +/)).toEqual(['PID', 'STATUS', 'KIND', 'IMAGE', 'NAME', 'PARENT', 'AGE']);
    const [pid = '', status, kind, image, name, parent] = (lines[2] ?? '').split(/ +/);
    expect({ status, kind, image, name, parent, exitCode }).toEqual({
      status: 'created',
      kind: 'external',
      image: 'base@1',
      name: 'researcher',
      parent: team.planner.slice(-8),
      exitCode: 0,
    });
    expect((await run('show', pid)).stdout).toContain(team.researcher);
  });

  it('prints whole pids with --full and one JSON array with --json', async () => {
    expect((await run('ps', '--full')).stdout).toContain(team.planner);
    const records = JSON.parse((await run('ps', '--json')).stdout) as { pid: string }[];
    expect(records.map(({ pid }) => pid)).toEqual([team.planner, team.researcher]);
  });

  it('filters by label, by life and by status', async () => {
    const pids = async (...args: string[]) =>
      (JSON.parse((await run('ps', '--json', ...args)).stdout) as { pid: string }[]).map(({ pid }) => pid);
    expect(await pids('--label', 'team=blue')).toEqual([team.planner]);
    expect(await pids('--live')).toEqual([team.planner, team.researcher]);
    expect(await pids('--status', 'exited')).toEqual([]);
  });

  it('refuses a status that there is not, a label without a value and an unknown option', async () => {
    expect(refusalOf(await run('ps', '--status', 'asleep'))).toEqual({ exitCode: 1, code: 'INVALID_INPUT' });
    expect(refusalOf(await run('ps', '--label', 'team'))).toEqual({ exitCode: 2, code: 'USAGE' });
    expect(refusalOf(await run('ps', '--everything'))).toEqual({ exitCode: 2, code: 'USAGE' });
  });
});

describe('tree', () => {
  it('draws every root, or the tree under one process', async () => {
    const [root, child] = [team.planner.slice(-8), team.researcher.slice(-8)];
    const whole = `planner ${root} created\n└─ researcher ${child} created\n`;
    expect((await run('tree')).stdout).toBe(whole);
    expect((await run('tree', team.planner)).stdout).toBe(whole);
    expect((await run('tree', team.researcher, '--full')).stdout).toBe(`researcher ${team.researcher} created\n`);
  });

  it('refuses a process that there is not', async () => {
    expect(refusalOf(await run('tree', 'p_nobody'))).toEqual({ exitCode: 1, code: 'NO_SUCH_PROCESS' });
  });
});

describe('show', () => {
  it('shows the record, the budget that binds and the capabilities', async () => {
    const { stdout } = await run('show', team.researcher);
    expect(stdout).toMatch(/^name +researcher$/m);
    expect(stdout).toMatch(new RegExp(`^tokens +- +40 +0 +60 +${team.planner}$`, 'm'));
    expect(stdout).toMatch(new RegExp(`tool:search +call +live +${team.planner}$`, 'm'));
  });

  it('gives the same as JSON', async () => {
    const shown = JSON.parse((await run('show', team.researcher, '--json')).stdout) as Record<string, unknown>;
    expect(shown).toMatchObject({ process: { pid: team.researcher }, budget: { tokens: { left: 60 } } });
  });

  it('refuses a process that there is not, and too short an ending', async () => {
    expect(refusalOf(await run('show', 'p_nobody'))).toEqual({ exitCode: 1, code: 'NO_SUCH_PROCESS' });
    const ending = team.planner.slice(-2);
    expect(refusalOf(await run('show', ending))).toEqual({ exitCode: 1, code: 'NO_SUCH_PROCESS' });
  });
});

describe('lineage', () => {
  it('tells under whom a process was spawned, and from whom its capabilities came', async () => {
    const { stdout } = await run('lineage', team.researcher);
    expect(stdout).toContain(`under ${team.planner} base@1 created, spawned by the host`);
    expect(stdout).toMatch(new RegExp(`held by ${team.planner}, from host`));
  });

  it('refuses a process that there is not', async () => {
    expect(refusalOf(await run('lineage', 'p_nobody'))).toEqual({ exitCode: 1, code: 'NO_SUCH_PROCESS' });
  });
});

describe('explain', () => {
  it('says by which capability something is allowed', async () => {
    const { stdout, exitCode } = await run('explain', team.researcher, 'call', 'tool:search');
    expect(exitCode).toBe(0);
    expect(stdout).toContain(`${team.researcher} may call tool:search (ALLOWED)`);
    expect(stdout).toContain(`held by ${team.planner}, from host`);
  });

  it('says why something is not allowed, and what would mend it', async () => {
    const { stdout } = await run('explain', team.researcher, 'call', 'tool:publish');
    expect(stdout).toContain('may not call tool:publish (NO_CAPABILITY)');
    expect(stdout).toContain('capabilities.grant(');
  });

  it('refuses a process that there is not, and arguments that are not JSON', async () => {
    expect(refusalOf(await run('explain', 'p_nobody', 'call', 'tool:x'))).toEqual({
      exitCode: 1,
      code: 'NO_SUCH_PROCESS',
    });
    expect(refusalOf(await run('explain', team.researcher, 'call', 'tool:x', '--args', '{'))).toEqual({
      exitCode: 2,
      code: 'USAGE',
    });
  });
});
