import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineImage, defineTool, type Kernel, type Pid } from '../../src/index.js';
import { pendingApproval } from '../support/approvals.js';
import { anyCommand } from '../support/command-fixture.js';
import { openKernel } from '../support/kernel.js';
import { deepFreeze, hashOfPlain } from '../support/tools/decisions.js';

const login = defineTool({
  name: 'login',
  description: 'Logs in.',
  effect: 'pure',
  input: z.object({ user: z.string(), password: z.string().optional() }),
  shown: ({ user, password }) => (password === undefined ? { user } : { user, password: '[hidden]' }),
  run: async () => null,
});
const other = defineImage({ name: 'other', run: async () => null });
const callLogin = { resource: 'tool:login', rights: ['call' as const] };

/** All records and events, as text. */
async function recordsOf(kernel: Kernel): Promise<string> {
  const records = await kernel.audit.list({ limit: 1_000 });
  const events = await kernel.events.list({ limit: 1_000 });
  return JSON.stringify([records.items, events.items]);
}

async function expectHidden(kernel: Kernel, values: readonly unknown[]): Promise<void> {
  const text = await recordsOf(kernel);
  expect(text).not.toContain('hunter');
  for (const value of values) expect(text).not.toContain(hashOfPlain(deepFreeze(value)));
}

async function answerWith(kernel: Kernel, pid: Pid, args: object): Promise<void> {
  const { id } = await pendingApproval(kernel, pid);
  await kernel.approvals.answer(id, { decision: 'once', by: 'ann', args: args as never });
}

const open = () => openKernel({ tools: [login], images: [other], node: { executor: false } });

describe('no record tells a value that is not shown, nor a hash by which it can be guessed', () => {
  it('of the arguments and the environment of a process', async () => {
    const kernel = await open();
    const args = { password: 'hunter1' };
    const env = { PIN: 'hunter2' };
    const pid = await kernel.processes.spawn({ args, env });
    await kernel.processes.spawnChild(pid, { args, env });
    await kernel.processes.fork(pid, { args });
    await kernel.processes.exec(pid, { image: 'other', args });
    await expectHidden(kernel, [args, env]);
    const { items } = await kernel.audit.list({ action: 'process.spawn' });
    const keyedHash = expect.stringMatching(/^[0-9a-f]{64}$/);
    expect(items[0]?.facts).toMatchObject({ argsHash: keyedHash, envHash: keyedHash });
  });

  it('has a keyed hash, which is the same for the same value', async () => {
    const kernel = await open();
    for (const n of [1, 1, 2]) await kernel.processes.spawn({ args: { n } });
    const { items } = await kernel.audit.list({ action: 'process.spawn' });
    const [first, second, third] = items.map(({ facts }) => facts?.argsHash);
    expect(first).toBe(second);
    expect(third).not.toBe(first);
  });

  it('of a call of a tool; the hash of what is shown in full is there', async () => {
    const kernel = await open();
    const pid = await kernel.processes.spawn({ capabilities: [callLogin] });
    const args = { user: 'ann', password: 'hunter1' };
    await kernel.as(pid).tools.call('login', args);
    await kernel.as(pid).tools.call('login', { user: 'ann' });
    await expectHidden(kernel, [args]);
    const { items } = await kernel.audit.list({ action: 'tool.call', outcome: 'intent' });
    const keyedHash = expect.stringMatching(/^[0-9a-f]{64}$/);
    expect(items.map(({ facts }) => facts)).toMatchObject([
      { argsHash: keyedHash },
      { argsHash: hashOfPlain(deepFreeze({ user: 'ann' })) },
    ]);
  });

  it('of arguments that a person puts into a call', async () => {
    const kernel = await open();
    const pid = await kernel.processes.spawn({ capabilities: [callLogin] });
    await kernel.capabilities.ask(pid, { resource: 'tool:login', rights: ['call'] });
    const original = { user: 'ann', password: 'hunter1' };
    const edited = { user: 'bob', password: 'hunter2' };
    for (const asked of [original, { user: 'carl' }]) {
      const call = kernel.as(pid).tools.call('login', asked);
      await answerWith(kernel, pid, edited);
      await call;
    }
    await expectHidden(kernel, [original, edited]);
    const { items } = await kernel.audit.list({ action: 'tool.call', outcome: 'intent' });
    expect(items.map(({ payload }) => payload)).toMatchObject(
      [1, 2].map(() => ({ args: { user: 'bob', password: '[hidden]' }, editedBy: 'ann' })),
    );
  });

  it('of a command, also of one that a person edits', async () => {
    const kernel = await open();
    const pid = await kernel.processes.spawn({ capabilities: [anyCommand] });
    const face = kernel.as(pid);
    await face.run({ argv: ['true', '--password', 'hunter1'], env: { A: 'hunter2' }, stdin: 'hunter3' });
    await kernel.capabilities.ask(pid, { resource: 'command:true', rights: ['call'] });
    const original = { argv: ['true'], env: { A: 'hunter4' } };
    const edited = { argv: ['true', '-p', 'x', '--token', 'hunter5'], env: { B: 'hunter6' } };
    const call = face.run(original);
    await answerWith(kernel, pid, edited);
    await call;
    await expectHidden(kernel, [original, edited, original.env, edited.env]);
  });
});
