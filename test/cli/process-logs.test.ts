import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineImage } from '../../src/index.js';
import { printedSoFar, refusalOf, runCli } from '../support/cli/run-cli.js';
import { openTeam, type Team } from '../support/cli/team.js';
import { eventually } from '../support/eventually.js';

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

describe('logs --follow', () => {
  const printed = (text: string) => eventually(() => expect(printedSoFar()).toContain(text));

  it('goes on with what is logged until the process has ended', async () => {
    const { kernel } = team;
    kernel.images.register(
      defineImage({
        name: 'talking',
        run: async (ctx) => {
          for (let line = 0; line < 250; line++) await ctx.log(`line ${line}`);
          for (const word of ['one', 'two']) {
            await ctx.waitSignal('user.go');
            await ctx.log(word);
          }
          await ctx.waitSignal('user.go');
          await ctx.log('last');
        },
      }),
    );
    const pid = await kernel.processes.spawn({ image: 'talking' });
    const following = run('logs', pid, '--follow', '--json');
    for (const text of ['line 249', 'one', 'two']) {
      await printed(`"${text}"`);
      await kernel.processes.signal(pid, 'user.go');
    }
    const { exitCode, stdout, stderr } = await following;
    expect([exitCode, stderr]).toEqual([0, '']);
    const texts = stdout
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { text: string }).text);
    const numbered = Array.from({ length: 250 }, (_, line) => `line ${line}`);
    expect(texts).toEqual([...numbered, 'one', 'two', 'last']);
  });

  it('goes on with the output of a command', async () => {
    const { kernel } = team;
    const root = await kernel.processes.spawn({ capabilities: [{ resource: 'command:**', rights: ['call'] }] });
    const argv = ['sh', '-c', 'echo begun; while [ ! -e go ]; do sleep 0.05; done; echo over'];
    const { pid } = await kernel.as(root).run({ argv, background: true });
    const following = run('logs', pid, '--follow');
    await printed('begun');
    writeFileSync(join(team.folder, 'go'), '');
    expect(await following).toEqual({ exitCode: 0, stdout: 'begun\nover\n', stderr: '' });
  });

  it('ends when it is interrupted', async () => {
    const { kernel } = team;
    kernel.images.register(
      defineImage({
        name: 'silent',
        run: async (ctx) => {
          await ctx.log('here');
          await ctx.receive();
        },
      }),
    );
    const pid = await kernel.processes.spawn({ image: 'silent' });
    const before = process.listeners('SIGINT');
    const following = run('logs', pid, '--follow');
    await printed('here');
    const added = process.listeners('SIGINT').filter((listener) => !before.includes(listener));
    for (const listener of added) listener('SIGINT');
    expect(await following).toMatchObject({ exitCode: 0, stderr: '' });
    expect(process.listeners('SIGINT')).toEqual(before);
    await kernel.processes.cancel(pid);
  });

  it('ends at once for a process that has ended, and refuses what is no process', async () => {
    const { kernel } = team;
    const pid = await kernel.processes.spawn({});
    await kernel.processes.exit(pid);
    expect(await run('logs', pid, '--follow')).toEqual({ exitCode: 0, stdout: '', stderr: '' });
    expect(refusalOf(await run('logs', 'p_nobody', '--follow'))).toMatchObject({ code: 'NO_SUCH_PROCESS' });
  });
});
