import { expect, it } from 'vitest';
import { defineImage, type Syscalls } from '../../../src/index.js';
import { usage } from '../../support/agent-parts.js';
import { eventually } from '../../support/eventually.js';
import { newStore, openKernel, refusal } from '../../support/kernel.js';

/** Takes what is in the mailbox, waits for a signal, and answers all of it at once. */
async function converse(ctx: Syscalls): Promise<never> {
  for (let turns = 1; ; turns++) {
    const taken = [await ctx.receive()];
    await ctx.waitSignal('user.go');
    for (;;) {
      try {
        taken.push(await ctx.receive({ timeoutMs: 0 }));
      } catch {
        break;
      }
    }
    const text = taken.map(({ body }) => String(body)).join('+');
    await ctx.turns.commit([{ type: 'turn-start' }, { type: 'text', text }, { type: 'turn-end', usage }]);
    await ctx.turns.answer({ text, object: { turns }, usage });
  }
}

const chat = defineImage({ name: 'chat', conversation: true, run: converse });

it('say answers with the reply to its message; messages that are taken together share one', async () => {
  const kernel = await openKernel({ images: [chat] });
  const pid = await kernel.processes.spawn({ image: 'chat' });
  const one = kernel.agents.say(pid, 'one');
  await eventually(async () => expect((await kernel.processes.get(pid)).wait).toMatchObject({ kind: 'signal' }));
  const two = kernel.agents.say(pid, 'two');
  await eventually(async () => {
    const { items } = await kernel.events.list({ pid, types: ['message.sent'] });
    expect(items).toHaveLength(2);
  });
  await kernel.processes.signal(pid, 'user.go');
  const reply = { text: 'one+two', object: { turns: 1 }, usage };
  expect(await one).toEqual(reply);
  expect(await two).toEqual(reply);
  const three = kernel.agents.say(pid, 'three');
  await kernel.processes.signal(pid, 'user.go');
  expect(await three).toMatchObject({ text: 'three', object: { turns: 2 } });
  const { items } = await kernel.audit.list({ action: 'turn.answer' });
  expect(items.map(({ facts }) => facts?.messages)).toEqual([2, 1]);
});

it('a message that nobody waits for any more is kept, and its id waits for the same reply, also after a restart', async () => {
  const store = await newStore();
  const first = await openKernel({ store, images: [chat] });
  const pid = await first.processes.spawn({ image: 'chat' });
  const given = { id: 'm1' };
  expect(await refusal(first.agents.say(pid, 'hello', { ...given, timeoutMs: 0 }))).toMatchObject({
    code: 'WAIT_TIMEOUT',
    facts: { pid, id: 'm1' },
  });
  await first.shutdown();
  const second = await openKernel({ store, images: [chat] });
  const again = second.agents.say(pid, 'hello', given);
  await second.processes.signal(pid, 'user.go');
  expect(await again).toMatchObject({ text: 'hello' });
  await second.shutdown();
  const third = await openKernel({ store, node: { executor: false } });
  expect(await third.agents.say(pid, 'hello', given)).toMatchObject({ text: 'hello' });
  expect(await refusal(third.agents.say(pid, 'other', given))).toMatchObject({ code: 'CONFLICT' });
  expect((await third.events.list({ pid, types: ['message.sent'] })).items).toHaveLength(1);
});

it('a program without the image knows a conversation by the node that has it', async () => {
  const store = await newStore();
  const kernel = await openKernel({ store, images: [chat], node: { pollMs: 5 } });
  const other = await openKernel({ store, node: { executor: false, pollMs: 5 } });
  const pid = await kernel.processes.spawn({ image: 'chat' });
  await eventually(async () => {
    const told = await refusal(other.agents.say(pid, 'hi', { id: 'hi', timeoutMs: 0 }));
    expect(told.code).toBe('WAIT_TIMEOUT');
  });
  await kernel.processes.signal(pid, 'user.go');
  expect(await other.agents.say(pid, 'hi', { id: 'hi' })).toMatchObject({ text: 'hi' });
});

it('refuses a process that is no conversation, that has ended, or that ends before it replies', async () => {
  const kernel = await openKernel({ images: [chat] });
  const base = await kernel.processes.spawn({});
  expect(await refusal(kernel.agents.say(base, 'hi'))).toMatchObject({
    code: 'INVALID_TRANSITION',
    facts: { pid: base, event: 'say' },
  });
  expect((await kernel.events.list({ types: ['message.sent'] })).items).toEqual([]);
  expect(await refusal(kernel.agents.say('p_none', 'hi'))).toMatchObject({ code: 'NO_SUCH_PROCESS' });
  const pid = await kernel.processes.spawn({ image: 'chat' });
  expect(await refusal(kernel.agents.say(pid, ''))).toMatchObject({ code: 'INVALID_INPUT' });
  const unanswered = refusal(kernel.agents.say(pid, 'hi'));
  await eventually(async () => expect((await kernel.processes.get(pid)).wait).toMatchObject({ kind: 'signal' }));
  await kernel.processes.exit(pid);
  expect(await unanswered).toMatchObject({ code: 'PROCESS_TERMINATED' });
  expect(await refusal(kernel.agents.say(pid, 'hi'))).toMatchObject({ code: 'PROCESS_TERMINATED' });
});
