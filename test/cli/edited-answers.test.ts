import { expect, it } from 'vitest';
import { defineTool } from '../../src/index.js';
import { pendingApproval } from '../support/approvals.js';
import { refusalOf, runCli } from '../support/cli/run-cli.js';
import { eventually } from '../support/eventually.js';
import { newStore, openKernel } from '../support/kernel.js';

const mail = defineTool({
  name: 'mail',
  description: 'Sends a mail.',
  effect: 'once',
  input: { type: 'object' },
  needsApproval: true,
  run: (args) => ({ sent: args as { to: string } }),
});

it('a call is answered with other arguments, which the command shows', async () => {
  const store = await newStore();
  const kernel = await openKernel({ store, tools: [mail], node: { pollMs: 5 } });
  const run = (...args: string[]) => runCli([...args, '--store', store]);
  const pid = await kernel.processes.spawn({ capabilities: [{ resource: 'tool:mail', rights: ['call'] }] });
  const calling = kernel.as(pid).tools.call('mail', { to: 'bob' });
  const { id } = await pendingApproval(kernel, pid);
  expect((await run('approval', id)).stdout).toContain('[--args JSON]');
  expect(refusalOf(await run('answer', id, 'once', '--args', '{to:'))).toMatchObject({ code: 'INVALID_INPUT' });
  expect(refusalOf(await run('answer', id, 'always', '--args', '{"to":"carl"}'))).toMatchObject({
    code: 'INVALID_INPUT',
  });
  const { stdout, exitCode } = await run('answer', id, 'once', '--by', 'ann', '--args', '{"to":"carl"}');
  expect({ stdout, exitCode }).toEqual({
    stdout: `${id} answered by ann: once\n${pid} may call tool:mail once, with the arguments given here: {"to":"carl"}\n`,
    exitCode: 0,
  });
  expect(await calling).toEqual({ sent: { to: 'carl' } });
  expect((await run('approval', id)).stdout).toMatch(/run with +\{"to":"carl"\}/);
});

it('a question of a process has no arguments, and a rule can say how long its questions wait', async () => {
  const store = await newStore();
  const kernel = await openKernel({ store, node: { pollMs: 5 } });
  const run = (...args: string[]) => runCli([...args, '--store', store]);
  const pid = await kernel.processes.spawn({});
  const asking = kernel.as(pid).ask('which?');
  const id = await eventually(async () => {
    const [question] = await kernel.questions.list();
    if (question === undefined) throw new Error('it does not ask yet');
    return question.id;
  });
  expect(refusalOf(await run('answer', id, 'red', '--args', '{}'))).toMatchObject({ code: 'INVALID_INPUT' });
  await run('answer', id, 'red');
  expect(await asking).toBe('red');
  await run('ask', pid, 'tool:mail', 'call', '--answer-within', '10m');
  expect(await kernel.capabilities.rules(pid)).toMatchObject([{ effect: 'ask', expiresInMs: 600_000 }]);
  expect((await run('deny', pid, 'tool:mail', 'call', '--answer-within', '10m')).exitCode).not.toBe(0);
});
