import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineImage, defineTool, type JsonValue, type Tool } from '../../src/index.js';
import { newStore, openKernel, refusal } from '../support/kernel.js';
import { findInconsistencies } from '../support/store-consistency.js';

const epoch = '1970-01-01T00:00:00.000Z';

class Money {
  constructor(
    readonly amount: number,
    readonly currency: string,
  ) {}

  toJSON(): string {
    return `${this.amount} ${this.currency}`;
  }
}

describe('the result of a tool', () => {
  it.each<[string, unknown, unknown]>([
    ['a date', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['an instance with toJSON', new Money(3, 'EUR'), '3 EUR'],
    ['dates and instances inside', { at: new Date(0), list: [new Money(1, 'EUR')] }, { at: epoch, list: ['1 EUR'] }],
    ['the answer of toJSON, with dates inside', { toJSON: () => ({ at: new Date(0) }) }, { at: epoch }],
    ['undefined members', { a: 1, b: undefined, c: { d: undefined } }, { a: 1, c: {} }],
    ['members whose toJSON says undefined', { a: 1, b: { toJSON: () => undefined } }, { a: 1 }],
    ['nothing', undefined, null],
    ['an object whose toJSON says undefined', { toJSON: () => undefined }, null],
    ['a member toJSON that is no function', { toJSON: 'text' }, { toJSON: 'text' }],
  ])('may be %s', async (_, returned, expected) => {
    const { kernel, pid } = await opened(() => returned);
    expect(await kernel.as(pid).tools.call('give')).toEqual(expected);
    const { items } = await kernel.memory.query(pid, { types: ['tool_result'] });
    expect(items.map(({ payload }) => payload)).toEqual([expected]);
    expect(await outcomesOf(kernel)).toEqual(['intent', 'ok']);
  });

  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  const failing = {
    toJSON: () => {
      throw new Error('no text');
    },
  };
  it.each<[string, unknown]>([
    ['a bigint', { n: 5n }],
    ['a function', { f: () => 1 }],
    ['a number that is not finite', [Number.NaN]],
    ['an instance without toJSON', new Map([['a', 1]])],
    ['a cycle', cycle],
    ['an undefined item of a list', [1, undefined]],
    ['a toJSON that throws', { at: failing }],
    ['a toJSON that gives no JSON', { toJSON: () => 5n }],
  ])('that is %s fails the call, and is on record as a call that was carried out', async (_, returned) => {
    let runs = 0;
    const { kernel, pid } = await opened(() => {
      runs++;
      return returned;
    });
    const { code, facts } = await refusal(kernel.as(pid).tools.call('give'));
    expect([code, facts]).toMatchObject(['TOOL_FAILED', { tool: 'give' }]);
    expect(runs).toBe(1);
    expect(await outcomesOf(kernel)).toEqual(['intent', 'ok']);
    const returnedEvents = (await kernel.events.list({ types: ['tool.returned'] })).items;
    expect(returnedEvents.map(({ data }) => data)).toMatchObject([
      { tool: 'give', outcome: 'ok', code: 'TOOL_FAILED' },
    ]);
    expect((await kernel.processes.budget(pid)).toolCalls).toMatchObject({ used: 1, reserved: 0 });
    expect((await kernel.memory.query(pid, { types: ['tool_result'] })).items).toEqual([]);
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('is checked by the output schema after toJSON', async () => {
    const output = z.strictObject({ at: z.iso.datetime() });
    const { kernel, pid } = await opened(() => ({ at: new Date(0), none: undefined }), { output });
    expect(await kernel.as(pid).tools.call('give')).toEqual({ at: epoch });
    const wrong = await opened(() => ({ at: 'never' }), { output });
    expect(await refusal(wrong.kernel.as(wrong.pid).tools.call('give'))).toMatchObject({ code: 'TOOL_FAILED' });
    expect(await outcomesOf(wrong.kernel)).toEqual(['intent', 'failed']);
  });

  it('that a tool does not give because it throws is on record as failed', async () => {
    const { kernel, pid } = await opened(() => {
      throw new Error('no luck');
    });
    expect(await refusal(kernel.as(pid).tools.call('give'))).toMatchObject({ code: 'TOOL_FAILED' });
    expect(await outcomesOf(kernel)).toEqual(['intent', 'failed']);
  });

  it('that cannot be used is the same failure for a rerun of the body, and the tool does not run again', async () => {
    const store = await newStore();
    let runs = 0;
    const give = tool(() => {
      runs++;
      return 5n;
    });
    const caught: string[] = [];
    const image = defineImage({
      name: 'caller',
      run: async (ctx) => {
        const code = await refusal(ctx.tools.call('give')).then((error) => error.code);
        caught.push(code);
        await ctx.waitSignal('go');
        return code;
      },
    });
    const options = { store, images: [image], tools: [give] };
    const first = await openKernel(options);
    const pid = await first.processes.spawn({ image: 'caller', capabilities: [mayCall] });
    await first.idle();
    await first.shutdown();
    const second = await openKernel(options);
    await second.processes.signal(pid, 'user.go');
    expect((await second.processes.result(pid)).value).toBe('TOOL_FAILED');
    expect([caught, runs]).toEqual([['TOOL_FAILED', 'TOOL_FAILED'], 1]);
    expect(await outcomesOf(second)).toEqual(['intent', 'ok']);
  });
});

const mayCall = { resource: 'tool:give', rights: ['call'] } as const;

function tool(run: () => unknown, more: object = {}): Tool {
  return defineTool<JsonValue, never>({
    name: 'give',
    description: 'Gives something.',
    effect: 'once',
    input: {},
    run: run as () => never,
    ...more,
  });
}

async function opened(run: () => unknown, more: object = {}) {
  const kernel = await openKernel({ tools: [tool(run, more)] });
  const pid = await kernel.processes.spawn({ capabilities: [mayCall] });
  return { kernel, pid };
}

async function outcomesOf(kernel: Awaited<ReturnType<typeof openKernel>>): Promise<string[]> {
  return (await kernel.audit.list({ action: 'tool.call' })).items.map(({ outcome }) => outcome);
}
