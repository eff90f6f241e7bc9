import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineImage, type Kernel, type KernelOptions, type Pid, type UserQuestion } from '../../src/index.js';
import { runCli } from '../support/cli/run-cli.js';
import { eventually } from '../support/eventually.js';
import { newStore, openKernel, refusal } from '../support/kernel.js';

const day = z.object({ day: z.enum(['monday', 'friday']), hour: z.number().int() });

const planner = defineImage({
  name: 'planner',
  run: async (ctx) => {
    const { day: name, hour } = await ctx.ask('When?', { schema: day });
    return `${name} ${hour + 1}`;
  },
});

/** A question that waits, as soon as there is one. */
const questionOf = (kernel: Kernel, pid: Pid): Promise<UserQuestion> =>
  eventually(async () => {
    const [question] = await kernel.questions.list({ pid });
    if (question === undefined) throw new Error('it does not ask yet');
    return question;
  });

const open = (options: KernelOptions = {}) => openKernel({ images: [planner], ...options });

it('a body asks, waits without a slot, and goes on with an answer that fits the schema', async () => {
  const kernel = await open({ node: { concurrency: 1 } });
  const root = await kernel.processes.spawn({});
  const pid = await kernel.processes.spawnChild(root, { image: 'planner' });
  const question = await questionOf(kernel, pid);
  expect(question).toMatchObject({ pid, lineage: [root], question: 'When?', status: 'pending' });
  expect(question.id).toMatch(/^q_/);
  expect(question.schema).toMatchObject({ type: 'object', required: ['day', 'hour'] });
  await eventually(async () => {
    expect(await kernel.processes.get(pid)).toMatchObject({
      status: 'waiting',
      wait: { kind: 'question', what: question.id },
    });
  });
  // Its slot is free meanwhile: another body runs.
  const other = await kernel.processes.spawn({ image: 'planner' });
  await questionOf(kernel, other);
  await kernel.questions.answer(question.id, { answer: { day: 'friday', hour: 9 }, by: 'ann' });
  expect(await kernel.processes.result(pid)).toMatchObject({ status: 'exited', value: 'friday 10' });
  const { items } = await kernel.audit.list({ action: 'question.answer' });
  expect(items).toMatchObject([{ target: pid, facts: { question: question.id }, payload: { by: 'ann' } }]);
  expect((await kernel.events.list({ pid, types: ['question.asked', 'question.answered'] })).items).toMatchObject([
    { type: 'question.asked', data: { question: question.id } },
    { type: 'question.answered', data: { question: question.id } },
  ]);
});

it('an answer that does not fit is refused and changes nothing, a second one too', async () => {
  const kernel = await open();
  const pid = await kernel.processes.spawn({ image: 'planner' });
  const { id } = await questionOf(kernel, pid);
  const wrong = kernel.questions.answer(id, { answer: { day: 'sunday', hour: 9 }, by: 'ann' });
  expect(await refusal(wrong)).toMatchObject({ code: 'INVALID_INPUT', facts: { question: id } });
  expect(await kernel.questions.get(id)).toMatchObject({ status: 'pending' });
  await kernel.questions.answer(id, { answer: { day: 'monday', hour: 7 }, by: 'ann' });
  const second = kernel.questions.answer(id, { answer: { day: 'friday', hour: 1 }, by: 'bob' });
  expect(await refusal(second)).toMatchObject({ code: 'CONFLICT', facts: { status: 'answered' } });
  expect(await kernel.questions.get(id)).toMatchObject({ answer: { day: 'monday', hour: 7 }, by: 'ann' });
  expect(await refusal(kernel.questions.get('q_none'))).toMatchObject({ code: 'NO_SUCH_QUESTION' });
});

it('an answer is one of the choices', async () => {
  const kernel = await open();
  const pid = await kernel.processes.spawn({});
  const asking = kernel.as(pid).ask('Which?', { choices: ['red', 'blue'] });
  const { id, choices } = await questionOf(kernel, pid);
  expect(choices).toEqual(['red', 'blue']);
  expect(await refusal(kernel.questions.answer(id, { answer: 'green', by: 'ann' }))).toMatchObject({
    code: 'INVALID_INPUT',
  });
  await kernel.questions.answer(id, { answer: 'blue', by: 'ann' });
  expect(await asking).toBe('blue');
});

it('a question is closed with its process, with its time, and when its caller gives it up', async () => {
  const kernel = await open();
  const pid = await kernel.processes.spawn({});
  const face = kernel.as(pid);
  expect(await refusal(face.ask('Soon?', { timeoutMs: 1 }))).toMatchObject({ code: 'WAIT_TIMEOUT' });
  const controller = new AbortController();
  const given = refusal(face.ask('Still?', { signal: controller.signal }));
  await questionOf(kernel, pid);
  controller.abort();
  expect(await given).toMatchObject({ code: 'CANCELLED' });
  const ended = refusal(face.ask('Ever?'));
  const { id } = await questionOf(kernel, pid);
  await kernel.processes.kill(pid);
  expect((await ended).code).toMatch(/CANCELLED|PROCESS_TERMINATED/);
  const all = await kernel.questions.list({ status: 'any', pid });
  expect(all.map(({ question, status }) => [question, status])).toEqual([
    ['Soon?', 'closed'],
    ['Still?', 'closed'],
    ['Ever?', 'closed'],
  ]);
  const late = kernel.questions.answer(id, { answer: 'yes', by: 'ann' });
  expect(await refusal(late)).toMatchObject({ code: 'CONFLICT', facts: { status: 'closed' } });
  await kernel.processes.prune({ endedBefore: Number.MAX_SAFE_INTEGER });
  expect(await kernel.questions.list({ status: 'any' })).toEqual([]);
});

it('no more than sixteen questions of a process wait', async () => {
  const kernel = await open();
  const face = kernel.as(await kernel.processes.spawn({}));
  const controller = new AbortController();
  const asking = Array.from({ length: 17 }, () => refusal(face.ask('?', { signal: controller.signal })));
  expect((await Promise.race(asking)).code).toBe('TOO_MANY_QUESTIONS');
  await eventually(async () => expect(await kernel.questions.list()).toHaveLength(16));
  controller.abort();
  await Promise.all(asking);
});

it('a stream gives the pending questions, then each new one', async () => {
  const kernel = await open();
  const first = await kernel.processes.spawn({ image: 'planner' });
  const { id } = await questionOf(kernel, first);
  const stream = kernel.questions.stream()[Symbol.asyncIterator]();
  expect((await stream.next()).value).toMatchObject({ id, pid: first });
  const second = await kernel.processes.spawn({ image: 'planner' });
  expect((await stream.next()).value).toMatchObject({ pid: second, status: 'pending' });
});

it('the tool human.ask gives a model the answer of a person', async () => {
  const kernel = await open();
  const pid = await kernel.processes.spawn({ capabilities: [{ resource: 'tool:human.ask', rights: ['call'] }] });
  const asking = kernel.as(pid).tools.call('human.ask', { question: 'Go on?', choices: ['yes', 'no'] });
  const { id } = await questionOf(kernel, pid);
  await kernel.questions.answer(id, { answer: 'no', by: 'ann' });
  expect(await asking).toEqual({ answered: true, answer: 'no' });
  expect(await kernel.as(pid).tools.call('human.ask', { question: 'Now?', timeoutMs: 1 })).toEqual({ answered: false });
});

it('another program lists and answers, by the stored schema', async () => {
  const store = await newStore();
  const kernel = await open({ store, node: { pollMs: 5 } });
  const pid = await kernel.processes.spawn({ image: 'planner' });
  const { id } = await questionOf(kernel, pid);
  expect((await runCli(['questions', '--store', store])).stdout).toContain('When?');
  const wrong = await runCli(['answer', id, '{"day":"sunday","hour":1}', '--by', 'ann', '--store', store]);
  expect(wrong.exitCode).not.toBe(0);
  expect(await kernel.questions.get(id)).toMatchObject({ status: 'pending' });
  const right = await runCli(['answer', id.slice(-8), '{"day":"monday","hour":1}', '--by', 'ann', '--store', store]);
  expect(right).toMatchObject({ exitCode: 0, stdout: `${id} answered by ann\n` });
  expect(await kernel.processes.result(pid)).toMatchObject({ value: 'monday 2' });
});
