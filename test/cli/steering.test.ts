import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { builtPackage } from '../support/built-package.js';
import { refusalOf, runBuiltCli, runCli } from '../support/cli/run-cli.js';
import { openTeam, type Team } from '../support/cli/team.js';
import { foreignProgram, idle } from '../support/foreign-program.js';
import { newStore, openKernel } from '../support/kernel.js';

let team: Team;
const run = (...args: string[]) => runCli([...args, '--store', team.store]);
/** Runs the built command on the team's store. */
const runBuilt = (...args: string[]) => runBuiltCli([...args, '--store', team.store]);

beforeAll(async () => {
  team = await openTeam();
  await builtPackage();
});
afterAll(() => team?.close());

describe('a signal sent beside a running kernel', () => {
  it('is seen by a wait of that kernel, with its reason on record', async () => {
    const { processes, audit } = team.kernel;
    const child = await processes.spawnChild(team.planner, { name: 'slow' });
    const waiting = processes.wait(team.planner, child);
    const { stdout, exitCode } = await runBuilt('cancel', child, '--reason', 'too slow');
    expect({ stdout, exitCode }).toEqual({ stdout: `${child} cancel delivered\n`, exitCode: 0 });
    expect((await waiting).outcome).toMatchObject({ kind: 'cancelled', by: 'host', reason: 'too slow' });
    const { items } = await audit.list({ target: child, action: 'process.cancel' });
    expect(items.map(({ payload }) => payload)).toEqual([{ reason: 'too slow' }]);
  });

  it('reaches the whole subtree, and says who had ended before', async () => {
    const { processes } = team.kernel;
    const top = await processes.spawnChild(team.planner);
    const below = await processes.spawnChild(top);
    const killed = JSON.parse((await run('kill', top, '--json')).stdout) as { delivered: string[] };
    expect(new Set(killed.delivered)).toEqual(new Set([top, below]));
    expect((await run('kill', top)).stdout).toBe(`${top} had ended before\n`);
  });

  it('pauses and resumes what can be paused, and names what cannot', async () => {
    const held = await team.kernel.processes.spawnChild(team.planner, { held: true });
    expect((await run('resume', held.slice(-10))).stdout).toBe(`${held} resume delivered\n`);
    expect((await team.kernel.processes.get(held)).status).toBe('created');
    expect((await run('pause', held)).stdout).toBe(`${held} pause delivered\n`);
    expect((await run('pause', held)).stdout).toBe(`${held} unchanged\n`);
  });

  it('says of an adopted program that is gone that it is stale', async () => {
    const store = await newStore();
    const kernel = await openKernel({ store });
    const { osPid, child, exit } = await foreignProgram(idle());
    const { pid } = await kernel.processes.adopt({ osPid });
    await kernel.shutdown();
    child.kill('SIGKILL');
    await exit;
    const { stdout } = await runCli(['cancel', pid, '--store', store]);
    expect(stdout).toBe(`${pid} stale: its program is gone; nothing was signalled\n`);
  });

  it('is refused for a process that there is not, and for a name that is no signal', async () => {
    expect(refusalOf(await run('signal', 'p_nobody', 'kill'))).toEqual({ exitCode: 1, code: 'NO_SUCH_PROCESS' });
    expect(refusalOf(await run('signal', team.planner, 'explode'))).toEqual({ exitCode: 1, code: 'INVALID_INPUT' });
    expect(refusalOf(await run('kill'))).toEqual({ exitCode: 2, code: 'USAGE' });
    expect((await team.kernel.processes.get(team.planner)).status).toBe('created');
  });
});

describe('a message sent beside a running kernel', () => {
  it('is received from the host, as JSON where it parses and as text otherwise', async () => {
    const { processes } = team.kernel;
    const pid = await processes.spawnChild(team.planner);
    const waiting = team.kernel.as(pid).receive({ from: 'host' });
    expect((await runBuilt('send', pid, '{"hurry":true}')).stdout).toBe(`${pid} sent\n`);
    expect(await waiting).toMatchObject({ from: 'host', body: { hurry: true } });
    await run('send', pid.slice(-10), 'come home');
    await run('send', pid, '42');
    await run('send', pid, '42', '--text');
    const bodies = [];
    for (let n = 0; n < 3; n++) bodies.push((await team.kernel.as(pid).receive()).body);
    expect(bodies).toEqual(['come home', 42, '42']);
    const { stdout } = await run('send', pid, '[1]', '--json');
    expect(JSON.parse(stdout)).toEqual({ to: pid, message: [1] });
  });

  it('is refused for a process that there is not, and without a value', async () => {
    expect(refusalOf(await run('send', 'p_nobody', 'x'))).toEqual({ exitCode: 1, code: 'NO_SUCH_PROCESS' });
    expect(refusalOf(await run('send', team.planner))).toEqual({ exitCode: 2, code: 'USAGE' });
  });
});
