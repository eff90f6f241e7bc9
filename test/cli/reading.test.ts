import { afterAll, beforeAll, expect, it } from 'vitest';
import { createKernel, defineImage, type Kernel } from '../../src/index.js';
import { refusalOf, runCli } from '../support/cli/run-cli.js';
import { openTeam, type Team } from '../support/cli/team.js';

const clearScreen = '\u001b[2J';
let team: Team;
let kernel: Kernel;
let pid: string;
const run = (...args: string[]) => runCli([...args, '--store', team.store]);

beforeAll(async () => {
  team = await openTeam();
  const image = defineImage({
    name: 'counter',
    run: async (ctx) => {
      const payload = {
        messages: [
          { role: 'user', text: `Count.\nSlowly.${clearScreen}` },
          { role: 'assistant', text: 'One.' },
        ],
      };
      await ctx.memory.create({ type: 'message', name: 'transcript', payload });
      return ctx.step('count', () => ({ counted: `one${clearScreen}` }));
    },
  });
  kernel = await createKernel({ store: team.store, workspace: team.folder, images: [image] });
  pid = await kernel.processes.spawn({
    image: 'counter',
    goal: `Count.${clearScreen}`,
    args: { to: 1 },
    env: { TOKEN: 'tell-nobody' },
  });
  await kernel.processes.result(pid);
});
afterAll(async () => {
  await kernel?.shutdown();
  await team?.close();
});

it('show tells the goal, the arguments and the result, as safe text', async () => {
  const { stdout } = await run('show', pid);
  expect(stdout).toMatch(/^goal +Count\.\\x1b\[2J$/m);
  expect(stdout).toMatch(/^arguments +\{"to":1\}$/m);
  expect(stdout).toMatch(/^result +\{"counted":"one.*"\}$/m);
  expect(stdout).toMatch(/^env +TOKEN$/m);
  expect(stdout).not.toContain('\u001b[2J');
  expect(stdout).not.toContain('tell-nobody');
  const shown = JSON.parse((await run('show', pid, '--json')).stdout) as unknown;
  expect(shown).toMatchObject({
    goal: { text: `Count.${clearScreen}` },
    result: { counted: `one${clearScreen}` },
    process: { args: { to: 1 } },
  });
});

it('transcript prints what was told and said, as safe text', async () => {
  const { stdout } = await run('transcript', pid);
  expect(stdout).toBe('user: Count.\n  Slowly.\\x1b[2J\nassistant: One.\n');
  const json = JSON.parse((await run('transcript', pid, '--json')).stdout) as unknown;
  expect(json).toMatchObject({ name: 'transcript', payload: { messages: [{ role: 'user' }, { text: 'One.' }] } });
});

it('transcript says so where there is none, and refuses a process that there is not', async () => {
  expect((await run('transcript', team.planner)).stdout).toBe('The process keeps no transcript.\n');
  expect((await run('transcript', team.planner, '--json')).stdout).toBe('null\n');
  expect(refusalOf(await run('transcript', 'p_nobody'))).toEqual({ exitCode: 1, code: 'NO_SUCH_PROCESS' });
});

it('journal lists the calls, with values on request', async () => {
  const { stdout } = await run('journal', pid);
  expect(stdout).toMatch(/done +1 +\d+ +memory\.create transcript #1$/m);
  expect(stdout).toMatch(/done +1 +\d+ +step count #1$/m);
  expect(stdout).not.toContain('counted');
  const shown = (await run('journal', pid, '--values')).stdout;
  expect(shown).toMatch(/step count #1 +\{"counted":"one/);
  expect(shown).not.toContain('\u001b[2J');
  const json = JSON.parse((await run('journal', pid, '--values', '--json')).stdout) as { value: unknown }[];
  expect(json.at(-1)?.value).toEqual({ counted: `one${clearScreen}` });
  expect(refusalOf(await run('journal', 'p_nobody'))).toEqual({ exitCode: 1, code: 'NO_SUCH_PROCESS' });
});

it('leaves no record of what it reads', async () => {
  const before = (await kernel.audit.list({ limit: 10_000 })).items.length;
  for (const command of ['show', 'transcript', 'journal']) await run(command, pid);
  expect((await kernel.audit.list({ limit: 10_000 })).items.length).toBe(before);
});
