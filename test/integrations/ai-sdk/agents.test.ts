import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../../src/index.js';
import { type AgentSpec, agentImage } from '../../../src/integrations/ai-sdk/index.js';
import { gate } from '../../support/gate.js';
import { add, callModel, callTools, simpleTool, startAgent } from '../../support/integrations/agent-fixture.js';
import { scriptedModel, toolResultsIn } from '../../support/integrations/scripted-model.js';
import { openKernel } from '../../support/kernel.js';
import { findInconsistencies } from '../../support/store-consistency.js';

describe('an agent', () => {
  it('asks its model, makes the calls that it wants, and ends with what it says', async () => {
    const model = scriptedModel((asked, turn) => {
      if (turn === 1) return { text: 'Let me see.', calls: [['math_add', { a: 2, b: 3 }]] };
      return `The sum is ${toolResultsIn(asked)[0]}.`;
    });
    const { kernel, pid } = await startAgent({ model, system: 'You add.', tools: ['math.add'] }, [add], {
      goal: 'Add two and three.',
      args: { kindly: true },
    });
    expect(await kernel.processes.result(pid)).toMatchObject({
      status: 'exited',
      value: {
        text: 'The sum is 5.',
        turns: 2,
        finishReason: 'stop',
        usage: { inputTokens: 20, cachedInputTokens: 0, outputTokens: 10, totalTokens: 30 },
      },
    });
    const [first] = model.doGenerateCalls;
    expect(first?.prompt).toEqual([
      { role: 'system', content: 'You add.' },
      {
        role: 'user',
        content: [{ type: 'text', text: 'Add two and three.\n\nArguments: {"kindly":true}' }],
      },
    ]);
    expect(first?.tools?.map(({ name }) => name)).toEqual(['math_add']);
    expect((await kernel.processes.get(pid)).used).toMatchObject({ tokens: 30, costMicros: 0, toolCalls: 1 });
    const transcript = (await kernel.processes.transcript(pid))?.id ?? '';
    expect((await kernel.processes.journal(pid)).map(({ key }) => key.replaceAll(transcript, 'ID'))).toEqual([
      'step context #1 > parent #1',
      'step context #1',
      'step input of turn 1 #1 > receive #1',
      'step input of turn 1 #1',
      'memory.create transcript #1',
      'require model:mock/scripted #1',
      'step budget of turn 1 #1',
      'reserve #1',
      'step turn 1 #1',
      'settle #1',
      'turn #1',
      'memory.update ID #1',
      'tool math.add #1',
      'turn #2',
      'step input of turn 2 #1 > receive #1',
      'step input of turn 2 #1',
      'memory.update ID #2',
      'require model:mock/scripted #2',
      'step budget of turn 2 #1',
      'reserve #2',
      'step turn 2 #1',
      'settle #2',
      'turn #3',
      'memory.update ID #3',
    ]);
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('may not ask a model without a capability: it fails, and the model is not asked', async () => {
    const model = scriptedModel(['never']);
    const kernel = await openKernel({ images: [agentImage({ name: 'agent', model })] });
    const pid = await kernel.processes.spawn({
      image: 'agent',
      capabilities: [{ resource: 'model:other/**', rights: ['call'] }],
    });
    expect(await kernel.processes.result(pid)).toMatchObject({
      status: 'failed',
      outcome: { reason: 'CAPABILITY_DENIED', evidence: { facts: { right: 'call', resource: 'model:mock/scripted' } } },
      message: `Process ${pid} may not call model:mock/scripted.`,
    });
    expect(model.doGenerateCalls).toEqual([]);
  });

  it('is refused the next turn when the authority over the model is taken from it', async () => {
    const model = scriptedModel(async (_asked, turn) => {
      const [held] = (await kernel.capabilities.list(pid)).filter(({ resource }) => resource.startsWith('model:'));
      if (turn === 1) await kernel.capabilities.revoke(held?.id ?? '');
      return { calls: [['math_add', { a: 1, b: 1 }]] };
    });
    const { kernel, pid } = await startAgent({ model }, [add], { held: true });
    await kernel.processes.resume(pid);
    expect(await kernel.processes.result(pid)).toMatchObject({
      status: 'failed',
      outcome: { reason: 'CAPABILITY_REVOKED' },
    });
    expect(model.doGenerateCalls).toHaveLength(1);
  });

  it('has as many turns as the uses of its capability', async () => {
    const model = scriptedModel((asked) =>
      toolResultsIn(asked).length === 0 ? { calls: [['math_add', { a: 1, b: 1 }]] } : 'enough',
    );
    const kernel = await openKernel({ tools: [add], images: [agentImage({ name: 'agent', model })] });
    const spawn = (uses: number) =>
      kernel.processes.spawn({ image: 'agent', capabilities: [{ ...callModel, uses }, callTools] });
    expect(await kernel.processes.result(await spawn(2))).toMatchObject({ value: { text: 'enough', turns: 2 } });
    expect(await kernel.processes.result(await spawn(1))).toMatchObject({
      status: 'failed',
      outcome: { reason: 'CAPABILITY_DENIED', evidence: { facts: { code: 'SPENT' } } },
    });
    expect(model.doGenerateCalls).toHaveLength(3);
  });

  it('reads why a call was refused or failed, and goes on', async () => {
    const broken = simpleTool('broken', () => Promise.reject(new Error('no luck')));
    const calls: [string, unknown][] = [
      ['math_add', { a: 1, b: 2 }],
      ['math_sum', { a: 'one' }],
      ['math_sum', '{ not json'],
      ['broken', {}],
      ['unheard_of', {}],
    ];
    const read: unknown[] = [];
    const model = scriptedModel((asked, turn) => {
      read.push(...toolResultsIn(asked));
      return turn === 1 ? { calls } : 'I see.';
    });
    const tools = [add, { ...add, name: 'math.sum' }, broken];
    const kernel = await openKernel({ tools, images: [agentImage({ name: 'agent', model })] });
    const callable = ['tool:broken', 'tool:math.sum'].map((resource) => ({ resource, rights: ['call'] as const }));
    const pid = await kernel.processes.spawn({
      image: 'agent',
      capabilities: [callModel, ...callable],
    });
    expect(await kernel.processes.result(pid)).toMatchObject({ value: { text: 'I see.', finishReason: 'stop' } });
    expect(read).toMatchObject([
      { error: { code: 'CAPABILITY_DENIED', missing: { right: 'call', resource: 'tool:math.add' } } },
      { error: { code: 'INVALID_INPUT' } },
      { error: { code: 'INVALID_INPUT' } },
      { error: { code: 'TOOL_FAILED', message: 'Tool broken failed: Error: no luck' } },
      { error: { code: 'NO_SUCH_TOOL' } },
    ]);
  });

  it('makes the calls of one turn at the same time, and is told the results in their order', async () => {
    const both = gate();
    const begun: string[] = [];
    const meet = defineTool({
      name: 'meet',
      description: 'Ends when two have come.',
      effect: 'pure',
      input: z.strictObject({ who: z.string() }),
      run: async ({ who }: { who: string }) => {
        begun.push(who);
        if (begun.length === 2) both.open();
        await both.opened;
        return `${who} met`;
      },
    });
    const model = scriptedModel((asked, turn) =>
      turn === 1
        ? {
            calls: [
              ['meet', { who: 'ann' }],
              ['meet', { who: 'bob' }],
            ],
          }
        : JSON.stringify(toolResultsIn(asked)),
    );
    const { kernel, pid } = await startAgent({ model }, [meet]);
    expect(await kernel.processes.result(pid)).toMatchObject({ value: { text: '["ann met","bob met"]' } });
  });

  it('ends after as many turns as it may have, with what it has; the calls of the last one are not made', async () => {
    let calls = 0;
    const model = scriptedModel((_asked, turn) => ({ text: `turn ${turn}`, calls: [['count', {}]] }));
    const { kernel, pid } = await startAgent({ model, maxTurns: 3 }, [simpleTool('count', () => ++calls)]);
    expect(await kernel.processes.result(pid)).toMatchObject({
      status: 'exited',
      value: { text: 'turn 3', turns: 3, finishReason: 'max_turns' },
    });
    expect(calls).toBe(2);
  });

  it('makes no call of a turn that was cut in the middle', async () => {
    let calls = 0;
    const model = scriptedModel([{ text: 'I will', calls: [['count', {}]], finish: 'length' }]);
    const { kernel, pid } = await startAgent({ model }, [simpleTool('count', () => ++calls)]);
    expect(await kernel.processes.result(pid)).toMatchObject({ value: { text: 'I will', finishReason: 'length' } });
    expect(calls).toBe(0);
  });

  it('begins with what is in its view, and leaves a transcript', async () => {
    const model = scriptedModel(['Thank you.']);
    const { kernel, pid } = await startAgent({ model }, [], { goal: 'Write it.', held: true });
    await kernel.memory.create(pid, { type: 'evidence', title: 'tide', payload: 'The tide is high at nine.' });
    await kernel.processes.resume(pid);
    await kernel.processes.result(pid);
    const [asked] = model.doGenerateCalls;
    const [user] = asked?.prompt ?? [];
    const text = JSON.stringify(user?.content);
    expect(text).toContain('What you know:');
    expect(text).toContain('The tide is high at nine.');
    expect(text).toMatch(/Write it\."\}\]$/);
    const created = (await kernel.events.list({ pid, types: ['object.created'] })).items;
    const made = created
      .map(({ data }) => data as { object: string; type: string })
      .find(({ type }) => type === 'message');
    const { nodes } = await kernel.audit.provenance(made?.object ?? '');
    expect(nodes[0]).toMatchObject({ action: 'memory.update', madeBy: pid });
  });

  it('ends also where its transcript cannot be kept', async () => {
    const { kernel, pid } = await startAgent(
      { model: scriptedModel(['x'.repeat(2_000)]), contextTokens: 0 },
      [],
      {},
      {
        payloadBytesMax: 4_096,
      },
    );
    expect(await kernel.processes.result(pid)).toMatchObject({ status: 'exited' });
    const small = await startAgent(
      { model: scriptedModel(['x'.repeat(700)]), contextTokens: 0 },
      [],
      {},
      {
        payloadBytesMax: 1_024,
      },
    );
    expect(await small.kernel.processes.result(small.pid)).toMatchObject({ status: 'exited' });
  });

  it('takes whatever a model writes', async () => {
    const deep = `{"a":${'['.repeat(100)}${']'.repeat(100)}}`;
    const model = scriptedModel((asked, turn) =>
      turn === 1
        ? {
            text: 'half a \ud83d',
            calls: [
              ['echo', deep],
              ['echo', '{"a":"\\ud83d"}'],
            ],
          }
        : JSON.stringify(toolResultsIn(asked)).slice(0, 20),
    );
    const { kernel, pid } = await startAgent({ model }, [simpleTool('echo', (args) => args)]);
    expect(await kernel.processes.result(pid)).toMatchObject({ status: 'exited', value: { turns: 2 } });
  });

  it('is told of a long result that it is cut', async () => {
    const model = scriptedModel((asked, turn) => {
      if (turn === 1) return { calls: [['much', {}]] };
      const [told] = toolResultsIn(asked) as { cut: boolean; characters: number; text: string }[];
      return `${told?.cut} ${told?.characters} ${told?.text.length}`;
    });
    const { kernel, pid } = await startAgent({ model }, [simpleTool('much', () => 'x'.repeat(100_000))]);
    expect(await kernel.processes.result(pid)).toMatchObject({ value: { text: 'true 100002 65536' } });
  });

  it('finds its model by a function, and fails for what is none', async () => {
    const model = scriptedModel(['yes']);
    const { kernel, pid } = await startAgent({ model: (ctx) => (ctx.pid === '' ? (null as never) : model) });
    expect(await kernel.processes.result(pid)).toMatchObject({ value: { text: 'yes' } });
    const none = await startAgent({ model: () => 'openai/gpt-5' as never });
    expect(await none.kernel.processes.result(none.pid)).toMatchObject({ outcome: { reason: 'INVALID_INPUT' } });
  });

  it('is refused where its spec is wrong', () => {
    const model = scriptedModel([]);
    const good = { name: 'agent', model };
    const bad: object[] = [{ name: 'agent' }, { ...good, model: 'openai/gpt-5' }, { ...good, maxTurns: 0 }];
    bad.push(
      { ...good, cost: 5 },
      { ...good, contextTokens: -1 },
      { ...good, more: 1 },
      { ...good, retry: { attempts: 0 } },
    );
    for (const spec of bad) {
      expect(() => agentImage(spec as AgentSpec)).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }));
    }
  });
});
