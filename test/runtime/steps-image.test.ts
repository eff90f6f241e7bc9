import { describe, expect, it } from 'vitest';
import { defineSteps, type Kernel, type Pid, type StepSpec, type StepsSpec } from '../../src/index.js';
import { gate, pollUntil } from '../support/gate.js';
import { newStore, openKernel } from '../support/kernel.js';

async function stepEvents(kernel: Kernel, pid: Pid): Promise<[string, string, number][]> {
  const { items } = await kernel.events.list({
    pid,
    types: ['step.started', 'step.completed', 'step.failed'],
    limit: 1_000,
  });
  return items.map(({ type, data }) => {
    const { name, attempt } = data as { name: string; attempt: number };
    return [type, name, attempt];
  });
}

const never = new Promise<never>(() => undefined);

const add = (name: string, n: number): StepSpec => ({
  name,
  run: (_ctx, state: { n: number }) => ({ n: state.n + n }),
});

describe('an image of steps', () => {
  it('hands its state from step to step, and the last one is the result', async () => {
    const image = defineSteps({ name: 'sum', steps: [add('one', 1), add('two', 2), add('three', 3)] });
    const kernel = await openKernel({ images: [image] });
    const pid = await kernel.processes.spawn({ image: 'sum', args: { n: 10 } });
    expect(await kernel.processes.result(pid)).toMatchObject({ status: 'exited', value: { n: 16 } });
    expect(await kernel.processes.get(pid)).toMatchObject({
      kind: 'steps',
      progress: { done: 3, total: 3, text: 'three' },
    });
    expect(await stepEvents(kernel, pid)).toEqual([
      ['step.started', 'one', 1],
      ['step.completed', 'one', 1],
      ['step.started', 'two', 1],
      ['step.completed', 'two', 1],
      ['step.started', 'three', 1],
      ['step.completed', 'three', 1],
    ]);
  });

  it('shows which step it is at, and how many are done', async () => {
    const { opened, open } = gate();
    const steps: StepSpec[] = [
      { name: 'first', run: () => 1 },
      { name: 'second', run: () => opened.then(() => 2) },
    ];
    const kernel = await openKernel({ images: [defineSteps({ name: 'slow', steps })] });
    const pid = await kernel.processes.spawn({ image: 'slow' });
    await pollUntil(async () => (await kernel.processes.get(pid)).progress?.text === 'second');
    expect((await kernel.processes.get(pid)).progress).toEqual({ done: 1, total: 2, text: 'second' });
    open();
    expect(await kernel.processes.result(pid)).toMatchObject({ status: 'exited', value: 2 });
  });

  it('tries a step again as its own policy says, with the state as it was', async () => {
    const flaky: StepSpec = {
      name: 'flaky',
      retry: { attempts: 3, baseMs: 1 },
      run: (_ctx, state: { seen: number[] }) => {
        seen.push(state.seen.length);
        (state.seen as number[]).push(1);
        if (seen.length < 3) throw new Error('not yet');
        return state;
      },
    };
    const seen: number[] = [];
    const kernel = await openKernel({ images: [defineSteps({ name: 'flaky', steps: [flaky] })] });
    const pid = await kernel.processes.spawn({ image: 'flaky', args: { seen: [] } });
    expect(await kernel.processes.result(pid)).toMatchObject({ status: 'exited', value: { seen: [1] } });
    expect(seen).toEqual([0, 0, 0]);
    expect((await stepEvents(kernel, pid)).map(([type, , attempt]) => `${type} ${attempt}`)).toEqual([
      'step.started 1',
      'step.failed 1',
      'step.started 2',
      'step.failed 2',
      'step.started 3',
      'step.completed 3',
    ]);
  });

  it('fails with the step that fails, and runs none after it', async () => {
    const ran: string[] = [];
    const steps: StepSpec[] = [
      {
        name: 'breaks',
        run: () => {
          throw Object.assign(new Error('no paper'), { code: 'E_PAPER' });
        },
      },
      { name: 'never', run: () => ran.push('never') },
    ];
    const kernel = await openKernel({ images: [defineSteps({ name: 'printer', steps })] });
    const pid = await kernel.processes.spawn({ image: 'printer' });
    expect(await kernel.processes.result(pid)).toMatchObject({
      status: 'failed',
      message: 'no paper',
      outcome: { kind: 'failed', reason: 'E_PAPER' },
    });
    expect(ran).toEqual([]);
    expect((await stepEvents(kernel, pid)).at(-1)).toEqual(['step.failed', 'breaks', 1]);
  });

  it('fails a step that takes too long', async () => {
    const steps: StepSpec[] = [{ name: 'hangs', timeoutMs: 20, run: () => never }];
    const kernel = await openKernel({ images: [defineSteps({ name: 'hanging', steps })] });
    const pid = await kernel.processes.spawn({ image: 'hanging' });
    expect(await kernel.processes.result(pid)).toMatchObject({ outcome: { kind: 'failed', reason: 'STEP_TIMEOUT' } });
  });

  it('that is paused finishes its step and begins no other until it is resumed', async () => {
    const ran: string[] = [];
    const { opened, open } = gate();
    const steps: StepSpec[] = [
      { name: 'first', run: async () => opened.then(() => ran.push('first')) },
      { name: 'second', run: () => ran.push('second') },
    ];
    const kernel = await openKernel({ images: [defineSteps({ name: 'two', steps })] });
    const pid = await kernel.processes.spawn({ image: 'two' });
    await pollUntil(async () => (await stepEvents(kernel, pid)).length === 1);
    await kernel.processes.pause(pid, 'lunch');
    open();
    await pollUntil(async () => (await stepEvents(kernel, pid)).length === 2);
    await kernel.idle();
    expect(await kernel.processes.get(pid)).toMatchObject({ status: 'paused' });
    expect(ran).toEqual(['first']);
    await kernel.processes.resume(pid);
    expect(await kernel.processes.result(pid)).toMatchObject({ status: 'exited', value: 2 });
    const { items } = await kernel.events.list({ pid, types: ['process.paused', 'process.resumed', 'step.started'] });
    expect(items.map(({ type }) => type)).toEqual([
      'step.started',
      'process.paused',
      'process.resumed',
      'step.started',
    ]);
  });

  it('that is paused stays so when the kernel is closed and opened again, and goes on with the next step', async () => {
    const store = await newStore();
    const ran: string[] = [];
    const { opened, open } = gate();
    const steps: StepSpec[] = [
      { name: 'first', run: () => ran.push('first') },
      { name: 'second', run: () => opened.then(() => ran.push('second')) },
      { name: 'third', run: (_ctx, state) => [state, ran.push('third')] },
    ];
    const image = defineSteps({ name: 'three', steps });
    const before = await openKernel({ store, images: [image] });
    const pid = await before.processes.spawn({ image: 'three' });
    await pollUntil(async () => (await stepEvents(before, pid)).length === 3);
    await before.processes.pause(pid);
    open();
    await pollUntil(async () => (await stepEvents(before, pid)).length === 4);
    expect(await before.shutdown()).toMatchObject({ fenced: [] });

    const after = await openKernel({ store, images: [image] });
    await after.idle();
    expect(await after.processes.get(pid)).toMatchObject({
      status: 'paused',
      progress: { done: 2, total: 3, text: 'second' },
    });
    expect(ran).toEqual(['first', 'second']);
    await after.processes.resume(pid);
    expect(await after.processes.result(pid)).toMatchObject({ status: 'exited', value: [2, 3] });
    expect(ran).toEqual(['first', 'second', 'third']);
  });

  it('repeats the step that was under way when the kernel was closed, and none that was completed', async () => {
    const store = await newStore();
    const ran: string[] = [];
    let isHanging = true;
    const steps: StepSpec[] = [
      { name: 'first', run: () => ran.push('first') },
      {
        name: 'second',
        run: () => {
          ran.push('second');
          return isHanging ? never : 'done';
        },
      },
    ];
    const image = defineSteps({ name: 'two', steps });
    const before = await openKernel({ store, images: [image] });
    const pid = await before.processes.spawn({ image: 'two' });
    await pollUntil(() => ran.length === 2);
    expect(await before.shutdown({ graceMs: 0 })).toMatchObject({ fenced: [pid] });
    isHanging = false;
    const after = await openKernel({ store, images: [image] });
    expect(await after.processes.result(pid)).toMatchObject({ status: 'exited', value: 'done' });
    expect(ran).toEqual(['first', 'second', 'second']);
  });

  it('does not repeat a step that may happen only once', async () => {
    const store = await newStore();
    const ran: string[] = [];
    const steps: StepSpec[] = [
      {
        name: 'pay',
        effect: 'once',
        run: () => {
          ran.push('pay');
          return never;
        },
      },
    ];
    const image = defineSteps({ name: 'paying', steps });
    const before = await openKernel({ store, images: [image] });
    const pid = await before.processes.spawn({ image: 'paying' });
    await pollUntil(() => ran.length === 1);
    await before.shutdown({ graceMs: 0 });
    const after = await openKernel({ store, images: [image] });
    expect(await after.processes.result(pid)).toMatchObject({
      status: 'failed',
      outcome: { reason: 'OUTCOME_UNKNOWN' },
    });
    expect(ran).toEqual(['pay']);
  });
});

describe('registering an image of steps', () => {
  const refusals: Readonly<Record<string, [unknown, string]>> = {
    'without steps': [{ name: 'x' }, 'image.steps'],
    'with none': [{ name: 'x', steps: [] }, 'image.steps'],
    'with two of the same name': [{ name: 'x', steps: [add('a', 1), add('b', 1), add('a', 2)] }, 'image.steps.2.name'],
    'with a step that has no name': [{ name: 'x', steps: [{ run: () => 1 }] }, 'image.steps.0.name'],
    'with a step that has no body': [{ name: 'x', steps: [add('a', 1), { name: 'b' }] }, 'image.steps.1.run'],
    'with a policy that is none': [
      { name: 'x', steps: [{ ...add('a', 1), retry: { attempts: 0 } }] },
      'image.steps.0.retry.attempts',
    ],
    'with an effect that is none': [
      { name: 'x', steps: [{ ...add('a', 1), effect: 'twice' }] },
      'image.steps.0.effect',
    ],
    'with a time limit of nothing': [
      { name: 'x', steps: [{ ...add('a', 1), timeoutMs: 0 }] },
      'image.steps.0.timeoutMs',
    ],
    'with a property that a step does not have': [
      { name: 'x', steps: [{ ...add('a', 1), after: 'b' }] },
      'image.steps.0',
    ],
    'with a body beside the steps': [{ name: 'x', steps: [add('a', 1)], run: () => 1 }, 'image.run'],
    'that is nothing': [undefined, 'image.name'],
  };
  for (const [what, [spec, path]] of Object.entries(refusals)) {
    it(`${what} is refused, naming where`, async () => {
      const kernel = await openKernel();
      expect(() => kernel.images.register(defineSteps(spec as StepsSpec))).toThrow(
        expect.objectContaining({ code: 'INVALID_INPUT', facts: expect.objectContaining({ path }) }),
      );
      expect(kernel.images.list()).toEqual(['base@1']);
    });
  }
});
