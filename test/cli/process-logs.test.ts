import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineImage } from '../../src/index.js';
import { refusalOf, runCli } from '../support/cli/run-cli.js';
import { openTeam, type Team } from '../support/cli/team.js';

let team: Team;
const run = (...args: string[]) => runCli([...args, '--store', team.store, '--workspace', team.folder]);

beforeAll(async () => {
  team = await openTeam();
});
afterAll(() => team?.close());

describe('logs', () => {
  it('prints what a body has logged, oldest first, with facts and without control characters', async () => {
    const { kernel } = team;
    kernel.images.register(
      defineImage({
        name: 'logging',
        run: async (ctx) => {
          await ctx.log('first \x1b[31mred');
          await ctx.log('second', { n: 1 });
        },
      }),
    );
    const pid = await kernel.processes.spawn({ image: 'logging' });
    await kernel.processes.result(pid);
    const { exitCode, stdout, stderr } = await run('logs', pid.slice(-8));
    expect([exitCode, stderr]).toEqual([0, '']);
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toEqual([
      expect.stringMatching(/ first \\x1b\[31mred$/),
      expect.stringMatching(/ second \{"n":1\}$/),
    ]);
    const json = (await run('logs', pid, '--json')).stdout.trimEnd().split('\n');
    expect(json.map((line) => JSON.parse(line))).toMatchObject([
      { text: 'first \x1b[31mred' },
      { text: 'second', facts: { n: 1 } },
    ]);
  });

  it('prints the output of a command', async () => {
    const { kernel } = team;
    const root = await kernel.processes.spawn({ capabilities: [{ resource: 'command:**', rights: ['call'] }] });
    const script = 'console.log("one\\n\\x1b[2Jtwo\\nthree"); console.error("problem")';
    const { pid } = await kernel.as(root).run({ argv: [process.execPath, '-e', script] });
    expect((await run('logs', pid)).stdout).toBe('one\n\\x1b[2Jtwo\nthree\n');
    expect((await run('logs', pid, '--stream', 'stderr')).stdout).toBe('problem\n');
    expect(JSON.parse((await run('logs', pid, '--json', '--stream', 'stderr')).stdout)).toEqual({
      stream: 'stderr',
      text: 'problem',
    });
  });

  it('prints nothing where nothing was logged, and refuses what is no process', async () => {
    expect(await run('logs', team.planner)).toEqual({ exitCode: 0, stdout: '', stderr: '' });
    expect(refusalOf(await run('logs', 'p_nobody'))).toMatchObject({ exitCode: 1, code: 'NO_SUCH_PROCESS' });
    expect((await run('logs', team.planner, '--stream', 'other')).exitCode).toBe(2);
  });
});
