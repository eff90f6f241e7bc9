import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import {
  type CapabilitySpec,
  defineImage,
  defineTool,
  type Kernel,
  type Pid,
  type SpawnSpec,
  type Tool,
  type ToolContext,
} from '../../src/index.js';
import { eventually } from '../support/eventually.js';
import { gate } from '../support/gate.js';
import { checkInvariants } from '../support/invariants.js';
import { newStore, openKernel, refusal } from '../support/kernel.js';
import { queuedCalls } from '../support/queued-calls.js';
import { findInconsistencies } from '../support/store-consistency.js';

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  effect: 'pure',
  input: z.strictObject({ a: z.number(), b: z.number() }),
  output: z.number(),
  run: ({ a, b }: { a: number; b: number }) => a + b,
});
const callAdd: CapabilitySpec = { resource: 'tool:add', rights: ['call'] };

describe('a call of a tool', () => {
  it('is made by a process that may call it, and its result is an object with provenance', async () => {
    const { kernel, pid } = await opened([add], [callAdd]);
    expect(await kernel.as(pid).tools.call('add', { a: 1, b: 2 })).toBe(3);
    const { items } = await kernel.memory.query(pid, { types: ['tool_result'] });
    expect(items.map(({ payload }) => payload)).toEqual([3]);
    const [capability] = await kernel.capabilities.list(pid);
    const { nodes } = await kernel.audit.provenance(items[0]?.id ?? '');
    const held = (await kernel.capabilities.list(pid)).find(({ resource }) => resource === 'tool:add');
    expect(nodes).toMatchObject([{ action: 'tool.call', tool: 'add', capability: held?.id, madeBy: pid }]);
    expect(capability).toBeDefined();
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('has its intent and its outcome on record, with the same effect, resource and capability', async () => {
    const { kernel, pid } = await opened([add], [callAdd]);
    await kernel.as(pid).tools.call('add', { a: 1, b: 2 });
    const records = (await kernel.audit.list({ action: 'tool.call' })).items;
    expect(records.map(({ outcome, resource, actor }) => ({ outcome, resource, actor }))).toEqual([
      { outcome: 'intent', resource: 'tool:add', actor: pid },
      { outcome: 'ok', resource: 'tool:add', actor: pid },
    ]);
    const [intent, outcome] = records;
    expect(intent?.effectId).toBe(outcome?.effectId);
    expect(intent?.payload).toMatchObject({ args: { a: 1, b: 2 } });
    const trace = await kernel.audit.authority(outcome?.seq ?? 0);
    expect(trace).toMatchObject({ actor: pid, root: 'host', chain: [{ resource: 'tool:add', holder: pid }] });
    const events = (await kernel.events.list({ types: ['tool.called', 'tool.returned'] })).items;
    expect(events.map(({ type, data }) => [type, data])).toMatchObject([
      ['tool.called', { tool: 'add', effect: intent?.effectId }],
      ['tool.returned', { tool: 'add', effect: intent?.effectId, outcome: 'ok' }],
    ]);
  });

  it('is refused to a process without a capability, which says what is missing, and the tool does not run', async () => {
    let runs = 0;
    const counted = { ...add, run: () => ++runs } as Tool;
    const { kernel, pid } = await opened([counted], [{ resource: 'tool:subtract', rights: ['call'] }]);
    const refused = await refusal(kernel.as(pid).tools.call('add', { a: 1, b: 2 }));
    expect(refused).toMatchObject({
      code: 'CAPABILITY_DENIED',
      facts: {
        pid,
        right: 'call',
        resource: 'tool:add',
        code: 'NO_CAPABILITY',
        nearest: [{ pattern: 'tool:subtract' }],
      },
    });
    expect(runs).toBe(0);
    expect((await kernel.processes.budget(pid)).toolCalls).toMatchObject({ used: 0, reserved: 0 });
    const [record] = (await kernel.audit.list({ action: 'tool.call' })).items;
    expect(record).toMatchObject({ outcome: 'refused', code: 'CAPABILITY_DENIED', resource: 'tool:add', actor: pid });
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('is one of many that a body makes at the same time, of which Node.js does not warn', async () => {
    const warnings: string[] = [];
    const onWarning = ({ name }: Error) => void warnings.push(name);
    process.on('warning', onWarning);
    onTestFinished(() => void process.off('warning', onWarning));
    const many = defineImage({
      name: 'many',
      run: (ctx) => Promise.all(Array.from({ length: 40 }, (_, n) => ctx.tools.call(add, { a: n, b: n }))),
    });
    const kernel = await openKernel({ tools: [add], images: [many] });
    const pid = await kernel.processes.spawn({ image: many, capabilities: [callAdd] });
    expect(await kernel.processes.value(pid)).toHaveLength(40);
    expect(warnings).not.toContain('MaxListenersExceededWarning');
  });

  it('of a tool that is registered after it was refused is told to the logger, once', async () => {
    const told: string[] = [];
    const logger = { warn: (_facts: object, text: string) => void told.push(text), error: () => undefined };
    const kernel = await openKernel({ logger });
    const pid = await kernel.processes.spawn({ capabilities: [callAdd] });
    for (const name of ['add', 'add', 'nothing'])
      expect(await refusal(kernel.as(pid).tools.call(name, { a: 1, b: 2 }))).toMatchObject({ code: 'NO_SUCH_TOOL' });
    expect(told).toEqual([]);
    const registered = kernel.tools.register(add);
    expect(told).toEqual([expect.stringContaining(`tool add was registered after process ${pid} was refused it`)]);
    expect(told[0]).toContain('node: { start: false }');
    expect(await kernel.as(pid).tools.call('add', { a: 1, b: 2 })).toBe(3);
    registered[Symbol.dispose]();
    kernel.tools.register(add);
    expect(told).toHaveLength(1);
  });

  it('is refused for a tool that there is not, and for one that its image does not show', async () => {
    const narrow = defineImage({ name: 'narrow', tools: ['other'], run: async () => undefined });
    const tools: Tool[] = [add, { ...add, name: 'other' } as Tool];
    // Without an executor, so that nobody runs the body of the image.
    const kernel = await openKernel({ tools, images: [narrow], node: { executor: false } });
    const pid = await kernel.processes.spawn({ capabilities: [{ resource: 'tool:**', rights: ['call'] }] });
    expect(await refusal(kernel.as(pid).tools.call('nothing', {}))).toMatchObject({
      code: 'NO_SUCH_TOOL',
      facts: { tool: 'nothing' },
    });
    const seen = await kernel.processes.spawn({
      image: 'narrow',
      capabilities: [{ resource: 'tool:**', rights: ['call'] }],
    });
    expect((await kernel.as(seen).tools.list()).map(({ name }) => name)).toEqual(['other']);
    expect(await refusal(kernel.as(seen).tools.call('add', { a: 1, b: 1 }))).toMatchObject({ code: 'NO_SUCH_TOOL' });
    expect(await kernel.as(seen).tools.call('other', { a: 1, b: 1 })).toBe(2);
  });

  it('has its arguments validated before anything else, and gets what the schema gives back', async () => {
    const seen: unknown[] = [];
    const echo = defineTool({
      name: 'echo',
      description: 'Says it again.',
      effect: 'pure',
      input: z.strictObject({ text: z.string().trim(), times: z.number().default(2) }),
      run: (args) => {
        seen.push(args);
        expect(Object.isFrozen(args)).toBe(true);
        return args;
      },
    });
    const { kernel, pid } = await opened([echo], [{ resource: 'tool:echo', rights: ['call'] }]);
    const { tools } = kernel.as(pid);
    expect(await tools.call('echo', { text: ' a ' })).toEqual({ text: 'a', times: 2 });
    for (const bad of [{}, { text: 5 }, { text: 'a', more: 1 }, 'text', null, [1]]) {
      expect(await refusal(tools.call('echo', bad))).toMatchObject({ code: 'INVALID_INPUT', facts: { tool: 'echo' } });
    }
    expect(seen).toEqual([{ text: 'a', times: 2 }]);
    expect((await kernel.processes.budget(pid)).toolCalls.used).toBe(1);
  });

  it('is held to constraints on the arguments as the schema gives them back', async () => {
    const { kernel, pid } = await opened([add], [{ ...callAdd, constraints: { a: { range: [0, 9] }, b: { eq: 1 } } }]);
    const { tools } = kernel.as(pid);
    expect(await tools.call('add', { a: 9, b: 1 })).toBe(10);
    expect(await refusal(tools.call('add', { a: 10, b: 1 }))).toMatchObject({
      code: 'CAPABILITY_DENIED',
      facts: { code: 'CONSTRAINT' },
    });
  });

  it('needs what it touches as well, and says by what it did so', async () => {
    const read = defineTool({
      name: 'peek',
      description: 'Reads.',
      effect: 'pure',
      input: z.strictObject({ file: z.string() }),
      resources: ({ file }: { file: string }, { cwd }) => [{ right: 'read', resource: `fs:${cwd}/${file}` }],
      run: (_args, { files }) => [...files.keys()],
    });
    const { kernel, pid } = await opened(
      [read],
      [
        { resource: 'tool:peek', rights: ['call'] },
        { resource: 'fs:a/**', rights: ['read'] },
      ],
    );
    const { tools } = kernel.as(pid);
    expect(await tools.call('peek', { file: 'a/b' })).toEqual(['fs:a/b']);
    expect(await refusal(tools.call('peek', { file: 'b' }))).toMatchObject({
      code: 'CAPABILITY_DENIED',
      facts: { right: 'read', resource: 'fs:b' },
    });
    const [intent] = (await kernel.audit.list({ action: 'tool.call' })).items;
    expect(intent?.payload).toMatchObject({ resources: ['read fs:a/b'] });
  });

  it('can be made by one capability that is named, and by no other', async () => {
    const { kernel, pid } = await opened([add], [callAdd, { ...callAdd, uses: 1 }]);
    const finite = (await kernel.capabilities.list(pid)).find(({ uses }) => uses === 1)?.id ?? '';
    const { tools } = kernel.as(pid);
    expect(await tools.call('add', { a: 1, b: 1 }, { using: finite })).toBe(2);
    expect(await refusal(tools.call('add', { a: 1, b: 1 }, { using: finite }))).toMatchObject({
      code: 'CAPABILITY_DENIED',
      facts: { code: 'SPENT' },
    });
    expect(await tools.call('add', { a: 1, b: 1 })).toBe(2);
  });
});

describe('the budget of calls', () => {
  it('stops the call after the last one, and those below count too', async () => {
    const { kernel, pid } = await opened([add], [{ ...callAdd, delegable: true }], { budget: { toolCalls: 2 } });
    const child = await kernel.processes.spawnChild(pid, { delegate: [callAdd] });
    await kernel.as(pid).tools.call('add', { a: 1, b: 2 });
    await kernel.as(child).tools.call('add', { a: 1, b: 2 });
    expect(await refusal(kernel.as(child).tools.call('add', { a: 1, b: 2 }))).toMatchObject({
      code: 'BUDGET_EXCEEDED',
      facts: { dimension: 'toolCalls', process: pid, limit: 2 },
    });
    expect((await kernel.processes.budget(pid)).toolCalls).toMatchObject({ used: 2, reserved: 0, left: 0 });
  });

  it('is set aside while a call is under way, and what it cost is settled', async () => {
    const { kernel, pid } = await opened(
      [
        defineTool({
          name: 'dear',
          description: 'Costs.',
          effect: 'once',
          input: {},
          cost: (_args, result: number) => ({ tokens: result, costMicros: 7 }),
          run: async () => {
            expect((await kernel.processes.budget(pid)).toolCalls).toMatchObject({ used: 0, reserved: 1 });
            return 40;
          },
        }),
      ],
      [{ resource: 'tool:dear', rights: ['call'] }],
      { budget: { tokens: 30 } },
    );
    expect(await kernel.as(pid).tools.call('dear')).toBe(40);
    const { toolCalls, tokens, costMicros } = await kernel.processes.budget(pid);
    expect([toolCalls.used, toolCalls.reserved, tokens.used, tokens.overrun, costMicros.used]).toEqual([
      1, 0, 40, 10, 7,
    ]);
    expect(await findInconsistencies(kernel)).toEqual([]);
  });
});

describe('a tool that fails', () => {
  it('is TOOL_FAILED with what it said, whatever it threw, and counts as a call', async () => {
    const thrown: unknown[] = [new Error('no luck'), 'text', null, { toString: () => 'thing' }];
    const broken = thrown.map((error, index) => tool(`broken${index}`, () => Promise.reject(error)));
    const { kernel, pid } = await opened(broken, [{ resource: 'tool:**', rights: ['call'] }]);
    const said = [];
    for (const { name } of broken) {
      const { code, facts } = await refusal(kernel.as(pid).tools.call(name));
      said.push([code, (facts as { error: string }).error]);
    }
    expect(said).toEqual([
      ['TOOL_FAILED', 'Error: no luck'],
      ['TOOL_FAILED', 'text'],
      ['TOOL_FAILED', 'null'],
      ['TOOL_FAILED', 'thing'],
    ]);
    expect((await kernel.processes.budget(pid)).toolCalls.used).toBe(4);
    const outcomes = (await kernel.audit.list({ action: 'tool.call' })).items.map(({ outcome }) => outcome);
    expect(outcomes.filter((outcome) => outcome === 'failed')).toHaveLength(4);
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('gives back what is no JSON, or not what its output schema says', async () => {
    const { kernel, pid } = await opened(
      [tool('odd', () => 5n), { ...add, name: 'wrong', run: () => 'three' } as Tool],
      [{ resource: 'tool:**', rights: ['call'] }],
    );
    expect(await refusal(kernel.as(pid).tools.call('odd'))).toMatchObject({
      code: 'TOOL_FAILED',
      facts: { tool: 'odd' },
    });
    expect(await refusal(kernel.as(pid).tools.call('wrong', { a: 1, b: 2 }))).toMatchObject({
      code: 'TOOL_FAILED',
      facts: { tool: 'wrong', path: 'result' },
    });
  });

  it('takes too long: TOOL_TIMEOUT, its signal aborts, and what became of it is not known', async () => {
    let aborted: unknown;
    const slow = defineTool({
      name: 'slow',
      description: 'Never ends.',
      effect: 'once',
      input: {},
      timeoutMs: 30,
      run: (_args, { signal }) =>
        new Promise(() => {
          signal.addEventListener('abort', () => {
            aborted = signal.reason;
          });
        }),
    });
    const { kernel, pid } = await opened([slow], [{ resource: 'tool:slow', rights: ['call'] }]);
    expect(await refusal(kernel.as(pid).tools.call('slow'))).toMatchObject({
      code: 'TOOL_TIMEOUT',
      facts: { timeoutMs: 30 },
    });
    expect(aborted).toMatchObject({ code: 'TOOL_TIMEOUT' });
    expect(await refusal(kernel.as(pid).tools.call('slow', {}, { timeoutMs: 5 }))).toMatchObject({
      facts: { timeoutMs: 5 },
    });
    const records = (await kernel.audit.list({ action: 'tool.call', outcome: 'unknown' } as never)).items;
    expect(records.filter(({ outcome }) => outcome === 'unknown')).toHaveLength(2);
  });
});

describe('a call whose process is stopped', () => {
  it('hears of it, and its outcome is on record although the process has ended', async () => {
    const heard: string[] = [];
    const patient = tool('patient', async (_args, { signal }) => {
      heard.push('called');
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      heard.push('aborted');
      await sleep(20);
      return 'done after all';
    });
    const { kernel, pid, store } = await opened([patient], [{ resource: 'tool:patient', rights: ['call'] }]);
    const calling = refusal(kernel.as(pid).tools.call('patient'));
    await eventually(() => expect(heard).toEqual(['called']));
    await kernel.processes.kill(pid);
    expect(await calling).toMatchObject({ code: 'PROCESS_TERMINATED' });
    expect(heard).toEqual(['called', 'aborted']);
    const outcomes = (await kernel.audit.list({ action: 'tool.call' })).items.map(({ outcome }) => outcome);
    expect(outcomes).toContain('ok');
    expect((await kernel.processes.get(pid)).used.toolCalls).toBe(1);
    await checkInvariants(kernel, store);
  });

  it('is given up by whoever made it', async () => {
    const { kernel, pid } = await opened(
      [tool('endless', () => new Promise(() => undefined))],
      [{ resource: 'tool:endless', rights: ['call'] }],
    );
    const controller = new AbortController();
    const calling = refusal(kernel.as(pid).tools.call('endless', {}, { signal: controller.signal }));
    await eventually(async () => expect((await kernel.events.list({ types: ['tool.called'] })).items).toHaveLength(1));
    controller.abort();
    expect(await calling).toMatchObject({ code: 'CANCELLED' });
    const late = { signal: controller.signal };
    expect(await refusal(kernel.as(pid).tools.call('endless', {}, late))).toMatchObject({ code: 'CANCELLED' });
  });
});

describe('a call that waits for a person', () => {
  it('can be given up: the tool does not run, and the same call later has the answer', async () => {
    let runs = 0;
    const { kernel, pid } = await opened(
      [tool('careful', () => ++runs)],
      [{ resource: 'tool:careful', rights: ['call'] }],
    );
    await kernel.capabilities.ask(pid, { resource: 'tool:careful', rights: ['call'] });
    const controller = new AbortController();
    const calling = refusal(kernel.as(pid).tools.call('careful', {}, { signal: controller.signal }));
    await eventually(async () => expect(await kernel.approvals.list()).toHaveLength(1));
    controller.abort();
    const [approval] = await kernel.approvals.list();
    expect(await calling).toMatchObject({ code: 'CANCELLED', facts: { approval: approval?.id } });
    await kernel.approvals.answer(approval?.id ?? '', { decision: 'once', by: 'ann' });
    await queuedCalls(kernel);
    expect(runs).toBe(0);
    expect(await kernel.as(pid).tools.call('careful')).toBe(1);
    expect(await findInconsistencies(kernel)).toEqual([]);
  });
});

describe('how many calls of a tool are under way', () => {
  it('is bounded by the tool; the others wait their turn', async () => {
    let underway = 0;
    let most = 0;
    const hold = gate();
    const narrow = {
      ...tool('narrow', async () => {
        most = Math.max(most, ++underway);
        await hold.opened;
        await sleep(1);
        underway--;
        return null;
      }),
      concurrency: 2,
    };
    const { kernel, pid } = await opened([narrow], [{ resource: 'tool:narrow', rights: ['call'] }]);
    const calls = Array.from({ length: 10 }, () => kernel.as(pid).tools.call('narrow'));
    await eventually(() => expect(underway).toBe(2));
    await queuedCalls(kernel);
    expect(underway).toBe(2);
    hold.open();
    await Promise.all(calls);
    expect(most).toBe(2);
    expect((await kernel.processes.budget(pid)).toolCalls.used).toBe(10);
  });

  it('is not waited for any more by whoever gives up, and the others get their turn', async () => {
    let release: () => void = () => undefined;
    const one = { ...tool('one', () => new Promise<void>((resolve) => (release = resolve))), concurrency: 1 };
    const { kernel, pid } = await opened([one], [{ resource: 'tool:one', rights: ['call'] }]);
    const { tools } = kernel.as(pid);
    const first = tools.call('one');
    await eventually(async () => expect((await kernel.events.list({ types: ['tool.called'] })).items).toHaveLength(1));
    const controller = new AbortController();
    const second = refusal(tools.call('one', {}, { signal: controller.signal }));
    const third = tools.call('one');
    await queuedCalls(kernel);
    controller.abort();
    expect(await second).toMatchObject({ code: 'CANCELLED' });
    release();
    await first;
    await eventually(async () => expect((await kernel.events.list({ types: ['tool.called'] })).items).toHaveLength(2));
    release();
    await third;
    expect((await kernel.processes.budget(pid)).toolCalls.used).toBe(2);
  });
});

describe('registering a tool', () => {
  it('is refused for what is none, and for a name that is taken; it can be taken away again', async () => {
    const kernel = await openKernel({ tools: [add] });
    const bad: unknown[] = [null, 5, {}, { ...add, name: '' }, { ...add, name: 'a*' }, { ...add, effect: 'maybe' }];
    bad.push({ ...add, run: 5 }, { ...add, more: 1 }, { ...add, input: 7 }, { ...add, name: 'a//b' });
    for (const one of bad) {
      expect(() => kernel.tools.register(one as Tool)).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }));
    }
    expect(() => kernel.tools.register(add)).toThrow(expect.objectContaining({ code: 'CONFLICT' }));
    const registered = kernel.tools.register({ ...add, name: 'again' } as Tool);
    expect(kernel.tools.list().map(({ name }) => name)).toContain('again');
    registered[Symbol.dispose]();
    expect(kernel.tools.list().map(({ name }) => name)).not.toContain('again');
  });

  it('tells its input as JSON Schema, whatever it was written in', async () => {
    const kernel = await openKernel({ tools: [add] });
    expect(kernel.tools.list().find(({ name }) => name === 'add')).toMatchObject({
      name: 'add',
      description: 'Adds two numbers.',
      effect: 'pure',
      input: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
      output: { type: 'number' },
    });
  });
});

function tool(name: string, run: (args: never, context: ToolContext) => unknown): Tool {
  return defineTool({ name, description: name, effect: 'once', input: {}, run: run as never });
}

async function opened(
  tools: Tool[],
  capabilities: CapabilitySpec[],
  spec: SpawnSpec = {},
): Promise<{ kernel: Kernel; pid: Pid; store: string }> {
  const store = await newStore();
  const kernel = await openKernel({ store, tools });
  return { kernel, store, pid: await kernel.processes.spawn({ capabilities, ...spec }) };
}
