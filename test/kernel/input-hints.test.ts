import { describe, expect, it } from 'vitest';
import { createKernel, defineImage, defineTool, KernelError, type KernelOptions } from '../../src/index.js';
import { openKernel } from '../support/kernel.js';
import { brokenLinks } from '../support/markdown-anchors.js';

const promised = <T>(value?: T) => Promise.resolve(value) as never;
const promiseProblem = 'a promise: is an await missing?';

/** The error of a call that is refused, synchronously or not. */
async function errorOf(call: () => unknown): Promise<KernelError> {
  try {
    await call();
  } catch (error) {
    if (error instanceof KernelError) return error;
    throw error;
  }
  throw new Error('the call was not refused');
}

describe('a promise where a value is wanted', () => {
  it('is told as one, wherever it stands', async () => {
    const kernel = await openKernel();
    const { processes, memory, capabilities } = kernel;
    const pid = await processes.spawn({ capabilities: [{ resource: 'tool:fs.read', rights: ['call'] }] });
    const face = kernel.as(pid);
    const object = { type: 'artifact' as const };
    const calls: [string, () => unknown][] = [
      ['pid', () => processes.get(promised('p_1'))],
      ['pid', () => kernel.as(promised('p_1'))],
      ['spec', () => processes.spawn(promised({}))],
      ['spec.goal', () => processes.spawn({ goal: promised('goal') })],
      ['spec.args.n', () => processes.spawn({ args: { n: promised(1) } })],
      ['spec.budget.tokens', () => processes.spawn({ budget: { tokens: promised(1) } })],
      ['parent', () => processes.spawnChild(processes.spawn({}) as never, {})],
      ['child', () => processes.wait(pid, promised('p_1'))],
      ['children[0]', () => processes.waitAll(pid, [promised('p_1')])],
      ['message.report', () => face.send(pid, { report: promised({}) })],
      ['spec.payload.text', () => face.memory.create({ ...object, payload: { text: promised('x') } })],
      ['ref', () => face.memory.read(face.memory.create({ ...object, payload: {} }) as never)],
      ['ref', () => memory.read(pid, promised({}))],
      ['spec.resource', () => capabilities.grant(pid, { resource: promised('fs:**'), rights: ['read'] })],
      ['args.path', () => face.tools.call('fs.read', { path: promised('a') })],
      ['options', () => processes.list(promised({}))],
      ['options.store', () => createKernel({ store: promised(':memory:') })],
      ['options', () => createKernel(promised({}))],
      ['options.defaults.budget', () => createKernel({ defaults: { budget: promised({}) } })],
      ['image', () => kernel.images.register(promised({}))],
      ['image.name', () => kernel.images.register(defineImage({ name: promised('x'), run: async () => null }))],
      [
        'image.input',
        () => kernel.images.register(defineImage({ name: 'x', input: promised({}), run: async () => null })),
      ],
      ['tool', () => kernel.tools.register(promised({}))],
      ['tool.name', () => kernel.tools.register(defineTool({ name: promised('x') } as never))],
    ];
    for (const [path, call] of calls) {
      const { code, message, facts } = await errorOf(call);
      expect([code, message], path).toEqual(['INVALID_INPUT', expect.stringContaining(`: ${promiseProblem}`)]);
      expect(message, path).toMatch(/\?$/);
      expect(facts.problem, path).toBe(promiseProblem);
    }
  });

  it('is told as one in a body too, for steps, results and events', async () => {
    const messages: unknown[] = [];
    const collect = async (call: () => Promise<unknown>) => messages.push((await errorOf(call)).message);
    const image = defineImage({
      name: 'body',
      events: { done: { type: 'object' } },
      run: async (ctx) => {
        await collect(() => ctx.step('later', promised(1)));
        await collect(() => ctx.step('nested', async () => ({ n: promised(1) })));
        await collect(() => ctx.emit('done', promised({})));
        await collect(() => ctx.sleep(promised(1)));
        return { n: promised(1) };
      },
    });
    const kernel = await openKernel({ images: [image] });
    const result = await kernel.processes.result(await kernel.processes.spawn({ image: 'body' }));
    expect(messages).toEqual(['work', 'result.n', 'data', 'ms'].map((path) => `${path}: ${promiseProblem}`));
    expect(JSON.stringify(result.outcome)).toContain(promiseProblem);
  });

  it('may be of another library: what has a method then', async () => {
    class Query {}
    Object.defineProperty(Query.prototype, 'then', { value: () => undefined });
    class Row {
      id = 1;
    }
    const kernel = await openKernel();
    const { message } = await errorOf(() => kernel.processes.spawn({ args: { rows: new Query() as never } }));
    expect(message).toBe(`spec.args.rows: ${promiseProblem}`);
    const other = await errorOf(() => kernel.processes.spawn({ args: { row: new Row() as never } }));
    expect(other.message).toBe('spec.args.row: an instance of a class is not data.');
  });
});

describe('the hint of a wrong parameter', () => {
  it('says what is allowed there, and names a page that exists', async () => {
    const kernel = await openKernel();
    const pid = await kernel.processes.spawn({});
    const { processes } = kernel;
    const hints: [() => unknown, string][] = [
      [() => processes.wait(pid, pid, { timeout: 1 } as never), 'Allowed here: the members timeoutMs, signal'],
      [() => processes.spawn({ budget: { token: 1 } } as never), 'Allowed here: the members toolCalls, tokens,'],
      [() => processes.spawn({ onBudget: 'stop' as never }), 'Allowed here: one of refuse, cancel.'],
      [() => processes.spawn({ held: 'yes' as never }), 'Allowed here: true or false.'],
      [() => processes.spawn({ deadlineMs: 'soon' as never }), 'Allowed here: a whole number.'],
      [() => processes.spawn({ cwd: 7 as never }), 'Allowed here: a text.'],
      [() => processes.spawn({ capabilities: {} as never }), 'Allowed here: a list.'],
      [() => kernel.memory.query(pid, { limits: 1 } as never), 'Allowed here: the members '],
      [() => kernel.capabilities.grant(pid, { resource: 'fs:a', rights: ['call'] }), 'fs knows: read, write,'],
      [() => kernel.events.on('process.end' as never, () => undefined), "'user.NAME' for one of an image"],
      [() => createKernel({ nodes: {} } as KernelOptions), 'Allowed here: the members store, state, workspace, node,'],
      [() => createKernel({ node: { lease: 1 } } as KernelOptions), 'Allowed here: the members name, executor,'],
    ];
    for (const [call, allowed] of hints) {
      const { hint } = await errorOf(call);
      expect(hint).toContain(allowed);
      const [, page = ''] = /See (docs\/[\w/-]+\.md(?:#[\w-]+)?)\.$/.exec(hint) ?? [];
      expect(page).not.toBe('');
      expect(brokenLinks([page])).toEqual([]);
    }
  });
});
