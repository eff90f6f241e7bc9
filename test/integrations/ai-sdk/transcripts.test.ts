import { describe, expect, it } from 'vitest';
import type { Kernel, Pid } from '../../../src/index.js';
import { eventually } from '../../support/eventually.js';
import { add, simpleTool, startAgent } from '../../support/integrations/agent-fixture.js';
import { scriptedModel } from '../../support/integrations/scripted-model.js';
import { newStore, openKernel } from '../../support/kernel.js';
import { findInconsistencies } from '../../support/store-consistency.js';

interface Transcript {
  readonly messages: readonly { readonly role: string; readonly text: string }[];
}

async function textsOf(kernel: Kernel, pid: Pid): Promise<string[]> {
  const transcript = await kernel.processes.transcript(pid);
  const { messages = [] } = (transcript?.payload ?? {}) as Partial<Transcript>;
  return messages.map(({ role, text }) => `${role}: ${text}`);
}

const firstTurn = { text: 'Let me see.', calls: [['math_add', { a: 2, b: 3 }]] } as const;
/** What is known after the first turn and its call. */
const afterFirstTurn = [
  expect.stringMatching(/^user: .*Add them\./),
  'assistant: Let me see.\nmath_add({"a":2,"b":3})',
  'tool: math_add: 5',
];

/** A model whose second turn goes on until its signal is aborted. */
function stuckModel() {
  return scriptedModel((asked, turn) =>
    turn === 1
      ? firstTurn
      : new Promise((_, reject) => asked.abortSignal?.addEventListener('abort', () => reject(new Error('aborted')))),
  );
}

describe('the transcript of an agent', () => {
  it('has all that was said, with one version and out of its view', async () => {
    const model = scriptedModel([firstTurn, 'It is five.']);
    const { kernel, pid } = await startAgent({ model }, [add], { goal: 'Add them.' });
    expect((await kernel.processes.result(pid)).status).toBe('exited');
    expect(await textsOf(kernel, pid)).toEqual([...afterFirstTurn, expect.stringContaining('It is five.')]);
    const transcript = await kernel.processes.transcript(pid);
    expect(transcript).toMatchObject({ type: 'message', name: 'transcript', title: 'transcript', createdBy: pid });
    const [, secondTurn] = model.doGenerateCalls;
    expect(JSON.stringify(secondTurn?.prompt)).not.toContain(transcript?.id);
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('is there after each turn, while it runs, for another program too', async () => {
    const store = await newStore();
    const { kernel, pid } = await startAgent({ model: stuckModel() }, [add], { goal: 'Add them.' }, { store });
    const reading = await openKernel({ store, readOnly: true });
    await eventually(async () => expect(await textsOf(reading, pid)).toEqual(afterFirstTurn));
    expect((await kernel.processes.get(pid)).status).toBe('running');
    await kernel.processes.kill(pid);
  });

  it('tells what the model has asked for before the tools have answered', async () => {
    const model = scriptedModel([{ text: 'I ask.', calls: [['slow', {}]] }, 'done']);
    const slow = simpleTool(
      'slow',
      (_, { signal }) => new Promise((_resolve, reject) => signal.addEventListener('abort', reject)),
    );
    const { kernel, pid } = await startAgent({ model }, [slow], { goal: 'Wait.' });
    await eventually(async () => {
      expect(await textsOf(kernel, pid)).toEqual(['user: Wait.', expect.stringContaining('I ask.')]);
    });
    await kernel.processes.kill(pid);
    expect(await textsOf(kernel, pid)).toHaveLength(2);
  });

  it.each([
    ['killed', (kernel: Kernel, pid: Pid) => kernel.processes.kill(pid)],
    ['cancelled', (kernel: Kernel, pid: Pid) => kernel.processes.cancel(pid)],
  ])('is whole where the agent is %s, also after a restart', async (kind, stop) => {
    const store = await newStore();
    const { kernel, pid } = await startAgent({ model: stuckModel() }, [add], { goal: 'Add them.' }, { store });
    await eventually(async () => expect(await textsOf(kernel, pid)).toEqual(afterFirstTurn));
    await stop(kernel, pid);
    expect((await kernel.processes.result(pid)).outcome.kind).toBe(kind);
    expect(await textsOf(kernel, pid)).toEqual(afterFirstTurn);
    await kernel.shutdown();
    const again = await openKernel({ store });
    expect(await textsOf(again, pid)).toEqual(afterFirstTurn);
  });

  it('is whole where its time is over', async () => {
    const { kernel, pid } = await startAgent({ model: stuckModel() }, [add], { goal: 'Add them.', deadlineMs: 1_500 });
    expect((await kernel.processes.result(pid)).outcome.kind).toBe('timed_out');
    expect((await textsOf(kernel, pid))[0]).toBe('user: Add them.');
  });

  it('is whole where the model fails, and where its budget is used up', async () => {
    const failing = scriptedModel((_, turn) => {
      if (turn === 1) return firstTurn;
      throw new Error('the model is gone');
    });
    const failed = await startAgent({ model: failing, retry: { attempts: 1 } }, [add], { goal: 'Add them.' });
    expect((await failed.kernel.processes.result(failed.pid)).status).toBe('failed');
    expect(await textsOf(failed.kernel, failed.pid)).toEqual(afterFirstTurn);

    const model = scriptedModel([firstTurn, 'It is five.']);
    const budget = { tokens: 15 };
    const poor = await startAgent({ model }, [add], { goal: 'Add them.', budget });
    expect((await poor.kernel.processes.result(poor.pid)).status).toBe('failed');
    expect(await textsOf(poor.kernel, poor.pid)).toEqual(afterFirstTurn);
  });

  it('goes on when the process gets another program', async () => {
    const model = scriptedModel(['One.']);
    const { kernel, pid } = await startAgent({ model, contextTokens: 0 }, [], { goal: 'Say one.', held: true });
    const earlier = { messages: [{ role: 'user', text: 'Say nothing.' }] };
    await kernel.memory.create(pid, { type: 'message', name: 'transcript', payload: earlier, immutable: false });
    const goal = 'Say one, again.';
    await kernel.processes.exec(pid, { image: 'agent', goal, preserveCapabilities: true });
    await kernel.processes.resume(pid);
    expect((await kernel.processes.result(pid)).status).toBe('exited');
    const last = [`user: ${goal}`, 'assistant: One.'];
    expect(await textsOf(kernel, pid)).toEqual(['user: Say nothing.', ...last]);
  });

  it('keeps the first message and the newest ones of a long conversation', async () => {
    const turns = Array.from({ length: 60 }, (_, n) => ({
      text: `${n} ${'x'.repeat(3_900)}`,
      calls: [['math_add', { a: n, b: 1 }]] as const,
    }));
    const model = scriptedModel([...turns, 'The end.']);
    const { kernel, pid } = await startAgent({ model, maxTurns: 100 }, [add], { goal: 'Talk.' });
    expect((await kernel.processes.result(pid)).status).toBe('exited');
    const texts = await textsOf(kernel, pid);
    expect([texts[0], texts.at(-1)]).toEqual(['user: Talk.', expect.stringContaining('The end.')]);
    const { payload, version } = (await kernel.processes.transcript(pid)) ?? {};
    expect(payload).toMatchObject({ omitted: 122 - texts.length });
    expect(version).toBeGreaterThan(60);
    expect((await kernel.processes.get(pid)).used.storedBytes).toBeLessThan(2_000_000);
  });
});
