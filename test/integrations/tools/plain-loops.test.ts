import { describe, expect, it } from 'vitest';
import type { CapabilitySpec, Kernel, KernelOptions, Pid, SpawnSpec, Tool } from '../../../src/index.js';
import { anthropicTools, durableTurn, openaiTools } from '../../../src/integrations/tools/index.js';
import { PartReader } from '../../support/agent-parts.js';
import { eventually } from '../../support/eventually.js';
import { gate } from '../../support/gate.js';
import { add, simpleTool } from '../../support/integrations/agent-fixture.js';
import { type Api, answerOf, apis, type LoopTurn, loopImage } from '../../support/integrations/plain-loops.js';
import { ProviderServer } from '../../support/integrations/provider-server.js';
import { newStore, openKernel, refusal } from '../../support/kernel.js';
import { findInconsistencies } from '../../support/store-consistency.js';

const callModel: CapabilitySpec = { resource: 'model:local/small', rights: ['call'] };
const callTools: CapabilitySpec = { resource: 'tool:**', rights: ['call'] };

describe.each(apis)('a loop with the SDK of a provider: %s', (api) => {
  it('asks the model as a durable, charged turn, and calls tools through the kernel', async () => {
    const { kernel, pid, server } = await start(api, [{ calls: [['math_add', { a: 1, b: 2 }]] }, 'three'], [add]);
    expect((await kernel.processes.result(pid)).value).toBe('three');
    expect(resultsIn(server)).toEqual(['3']);
    expect((await kernel.processes.get(pid)).used).toMatchObject({ tokens: 84, toolCalls: 1 });
    expect(JSON.stringify(server.requests[0]?.body.tools)).toContain('"math_add"');
    const names = (await kernel.processes.journal(pid)).map(({ key }) => key).filter((key) => /^(step|tool)/.test(key));
    expect(names).toEqual(['step turn #1', 'tool math.add #1', 'step turn #2']);
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('gives the model the reason of a refusal, of wrong arguments and of a name that is not offered', async () => {
    const calls = [
      ['publish', {}],
      ['math_add', { a: 'one' }],
      ['nothing', {}],
    ] as const;
    const publish = simpleTool('publish', () => 'never');
    const capabilities = [callModel, { ...callTools, resource: 'tool:math.add' }];
    const { kernel, pid, server } = await start(api, [{ calls }, 'sorry'], [add, publish], { capabilities });
    expect((await kernel.processes.result(pid)).value).toBe('sorry');
    expect(resultsIn(server).map((text) => JSON.parse(text).error.code)).toEqual([
      'CAPABILITY_DENIED',
      'INVALID_INPUT',
      'NO_SUCH_TOOL',
    ]);
    expect((await kernel.processes.get(pid)).used.toolCalls).toBe(0);
  });

  it('tells its turns to those who listen, with results and refusals, and leaves their hashes on record', async () => {
    const calls = [
      ['math_add', { a: 1, b: 2 }],
      ['publish', {}],
    ] as const;
    const publish = simpleTool('publish', () => 'never');
    const capabilities = [callModel, { ...callTools, resource: 'tool:math.add' }];
    const { kernel, pid } = await start(api, [{ calls }, 'three'], [add, publish], { capabilities });
    const early = new PartReader(kernel, pid);
    await early.done;
    const late = new PartReader(kernel, pid);
    await late.done;
    // A turn under way is seen by who listens meanwhile.
    expect(early.told).toEqual(late.told);
    expect(late.told).toEqual([
      '1 turn-start',
      '1 tool-call call_1_0',
      '1 tool-call call_1_1',
      '1 turn-end',
      '1 tool-result call_1_0',
      '1 tool-result call_1_1',
      '2 turn-start',
      '2 text three',
      '2 turn-end',
      '2 end completed',
    ]);
    const seen = late.parts.filter(({ type }) => type === 'tool-call' || type === 'tool-result' || type === 'turn-end');
    expect(seen).toMatchObject([
      { tool: 'math_add', args: { a: 1, b: 2 } },
      { tool: 'publish', args: {} },
      { usage: { inputTokens: 40, cachedInputTokens: 8, outputTokens: 2, totalTokens: 42 } },
      { tool: 'math_add', result: '3' },
      { tool: 'publish', isError: true },
      { usage: { totalTokens: 42 } },
    ]);
    const { items } = await kernel.audit.list({ action: 'turn.commit' });
    expect(items.map(({ facts }) => Object.keys(facts ?? {}).filter((key) => key.endsWith('Hash')))).toEqual([
      ['partsHash', 'requestHash'],
      ['partsHash'],
      ['partsHash', 'requestHash'],
    ]);
  });

  it('runs no call of an answer that was cut off', async () => {
    const done: unknown[] = [];
    const publish = simpleTool('publish', (args) => done.push(args));
    const turns = [{ calls: [['publish', {}]] as const, cutOff: true }, 'again'];
    const { kernel, pid, server } = await start(api, turns, [publish]);
    await kernel.processes.result(pid);
    expect(resultsIn(server)[0]).toContain('cut off');
    expect(done).toEqual([]);
  });

  it('ends where its budget does not allow another turn', async () => {
    const calls = [['math_add', { a: 1, b: 2 }]] as const;
    const turns: LoopTurn[] = [...Array(50).keys()].map(() => ({ calls }));
    const { kernel, pid, server } = await start(api, turns, [add], { budget: { tokens: 500 } });
    expect(await kernel.processes.result(pid)).toMatchObject({ outcome: { reason: 'BUDGET_EXCEEDED' } });
    const { tokens } = await kernel.processes.budget(pid);
    expect(tokens).toMatchObject({ used: 42 * server.requests.length, reserved: 0, overrun: 0 });
  });

  it('is cancelled in the middle of a turn, and of a call', async () => {
    const { opened } = gate();
    const turn = await start(api, async () => {
      await opened;
      return 'never';
    });
    await eventually(() => expect(turn.server.requests).toHaveLength(1));
    await turn.kernel.processes.cancel(turn.pid);
    expect(await turn.kernel.processes.result(turn.pid)).toMatchObject({ outcome: { kind: 'cancelled' } });

    let running = false;
    const slow = simpleTool('slow', () => {
      running = true;
      return new Promise(() => undefined);
    });
    const call = await start(api, [{ calls: [['slow', {}]] }], [slow]);
    await eventually(() => expect(running).toBe(true));
    await call.kernel.processes.cancel(call.pid);
    expect(await call.kernel.processes.result(call.pid)).toMatchObject({ outcome: { kind: 'cancelled' } });
    expect(call.server.requests).toHaveLength(1);
  });

  it('goes on after its kernel was closed: no turn is asked again, no call is made again', async () => {
    const store = await newStore();
    const { opened, open } = gate();
    const done: string[] = [];
    const first = simpleTool('first', () => done.push('first'));
    const script = async (turn: number): Promise<LoopTurn> => {
      if (turn === 1) return { calls: [['first', {}]] };
      if (turn === 2) await opened;
      return 'done';
    };
    const before = await start(api, script, [first], {}, { store });
    await eventually(() => expect(before.server.requests).toHaveLength(2));
    await before.kernel.shutdown({ graceMs: 0 });
    open();
    const after = await ProviderServer.start(() => answerOf(api, 'done', 2));
    const again = await openKernel({ store, tools: [first], images: [loopImage(api, after)] });
    expect((await again.processes.result(before.pid)).value).toBe('done');
    expect(after.requests).toHaveLength(1);
    expect(done).toEqual(['first']);
    expect((await again.processes.get(before.pid)).used).toMatchObject({ tokens: 84, toolCalls: 1 });
    expect(await findInconsistencies(again)).toEqual([]);
  });
});

describe('the tools for the loops that SDKs have themselves', () => {
  it('can be run by them, and are plain definitions in a request', async () => {
    const kernel = await openKernel({ tools: [add] });
    const pid = await kernel.processes.spawn({ capabilities: [callTools] });
    const [forAnthropic] = await anthropicTools(kernel.as(pid), { only: ['math.add'] });
    expect(await forAnthropic?.run(forAnthropic.parse({ a: 1, b: 2 }))).toBe('3');
    expect(JSON.parse(JSON.stringify(forAnthropic))).toEqual({
      type: 'custom',
      name: 'math_add',
      description: 'Adds two numbers.',
      input_schema: expect.objectContaining({ type: 'object', required: ['a', 'b'] }),
    });
    const [forOpenAI] = await openaiTools(kernel.as(pid), { only: ['math.add'] });
    expect(await forOpenAI?.function.function('{"a":1,"b":2}')).toBe('3');
    expect(await forOpenAI?.function.function('{"a":1,')).toContain('not JSON');
    expect(JSON.parse(JSON.stringify(forOpenAI))).toEqual({
      type: 'function',
      function: {
        name: 'math_add',
        description: 'Adds two numbers.',
        parameters: expect.objectContaining({ type: 'object', required: ['a', 'b'] }),
      },
    });
  });
});

describe('a durable turn', () => {
  it('is refused without authority over the model, and with a spec that is wrong', async () => {
    const { kernel, pid, server } = await start('anthropic', ['never'], [], { capabilities: [callTools] });
    expect(await kernel.processes.result(pid)).toMatchObject({ outcome: { reason: 'CAPABILITY_DENIED' } });
    expect(server.requests).toEqual([]);
    const wrong = { model: 'small', input: '', ask: async () => ({}) };
    expect(await refusal(durableTurn({} as never, wrong))).toMatchObject({
      code: 'INVALID_INPUT',
      facts: { path: 'turn.model' },
    });
  });

  it('is asked again after a temporary failure, and fails for good after another', async () => {
    const reply = answerOf('anthropic', 'done', 1);
    const busy = await ProviderServer.start((_, number) => (number === 1 ? { status: 529, body: {} } : reply));
    const kernel = await openKernel({ images: [loopImage('anthropic', busy)] });
    const pid = await kernel.processes.spawn({ image: 'loop', capabilities: [callModel] });
    expect(await kernel.processes.result(pid)).toMatchObject({ value: 'done' });
    expect((await kernel.processes.get(pid)).used.tokens).toBe(42);
    const closed = await ProviderServer.start(() => ({ status: 401, body: {} }));
    const other = await openKernel({ images: [loopImage('anthropic', closed)] });
    const failing = await other.processes.spawn({ image: 'loop', capabilities: [callModel] });
    expect(await other.processes.result(failing)).toMatchObject({
      outcome: { reason: 'MODEL_FAILED', evidence: { facts: { statusCode: 401 } } },
    });
    expect(closed.requests).toHaveLength(1);
  });
});

/** A process with the loop, and the server that its model is on. */
async function start(
  api: Api,
  script: readonly LoopTurn[] | ((turn: number) => Promise<LoopTurn>),
  tools: Tool[] = [],
  spawnSpec: SpawnSpec = {},
  options: KernelOptions = {},
): Promise<{ kernel: Kernel; pid: Pid; server: ProviderServer }> {
  const server = await ProviderServer.start(async (_, number) => {
    const turn = typeof script === 'function' ? await script(number) : script[number - 1];
    return turn === undefined ? { status: 400, body: {} } : answerOf(api, turn, number);
  });
  const image = { ...loopImage(api, server), tools: tools.map(({ name }) => name) };
  const kernel = await openKernel({ tools, images: [image], ...options });
  const pid = await kernel.processes.spawn({ image: 'loop', capabilities: [callModel, callTools], ...spawnSpec });
  return { kernel, pid, server };
}

/** The texts of the results in the last request. */
function resultsIn({ requests }: ProviderServer): string[] {
  const { messages = [], input = [] } = requests.at(-1)?.body ?? {};
  const fromInput = input.flatMap(({ type, output }) => (type === 'function_call_output' ? [String(output)] : []));
  const fromMessages = messages.flatMap(({ role, content }) => {
    if (role === 'tool') return [String(content)];
    return Array.isArray(content) ? content.flatMap((part) => (part.type === 'tool_result' ? [part.content] : [])) : [];
  });
  return [...fromInput, ...fromMessages];
}
