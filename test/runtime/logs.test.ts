import { describe, expect, it } from 'vitest';
import { createKernel, defineImage, type JsonObject, type Kernel, type Pid, type Syscalls } from '../../src/index.js';
import { eventually } from '../support/eventually.js';
import { newStore, openKernel, refusal } from '../support/kernel.js';
import { openRawTables } from '../support/storage/raw-tables.js';

describe('what a body logs', () => {
  it('is kept with its process, with time and facts, also after its end and for a reader', async () => {
    const store = await newStore();
    const { kernel, pid } = await ran(store, async (ctx) => {
      await ctx.log('first');
      await ctx.log('second', { n: 1, at: new Date(0), none: undefined });
    });
    const { items, ...rest } = await kernel.processes.logs(pid);
    expect(rest).toEqual({});
    expect(items).toEqual([
      { at: expect.any(Number), text: 'first' },
      { at: expect.any(Number), text: 'second', facts: { n: 1, at: '1970-01-01T00:00:00.000Z' } },
    ]);
    await kernel.shutdown();
    const reader = await createKernel({ logger: 'silent', store, readOnly: true });
    expect(await reader.processes.logs(pid)).toEqual({ items });
    await reader.shutdown();
  });

  it('is read in pages, oldest first', async () => {
    const { kernel, pid } = await ran(await newStore(), async (ctx) => {
      for (let n = 1; n <= 5; n++) await ctx.log(`line ${n}`);
    });
    const first = await kernel.processes.logs(pid, { limit: 2 });
    const second = await kernel.processes.logs(pid, { limit: 2, after: first.next ?? '' });
    const third = await kernel.processes.logs(pid, { limit: 2, after: second.next ?? '' });
    const texts = [first, second, third].map(({ items }) => items.map(({ text }) => text));
    expect(texts).toEqual([['line 1', 'line 2'], ['line 3', 'line 4'], ['line 5']]);
    expect(third.next).toBeUndefined();
  });

  it('is empty for a process that logs nothing, and NO_SUCH_PROCESS for none', async () => {
    const kernel = await openKernel();
    const pid = await kernel.processes.spawn({});
    expect(await kernel.processes.logs(pid)).toEqual({ items: [] });
    expect(await refusal(kernel.processes.logs('p_none'))).toMatchObject({ code: 'NO_SUCH_PROCESS' });
    for (const options of [{ limit: 0 }, { after: 'x' }, { more: 1 }])
      expect(await refusal(kernel.processes.logs(pid, options as never))).toMatchObject({ code: 'INVALID_INPUT' });
  });

  it('has at most 4 KiB a line: the text is cut, and facts that are too large are refused', async () => {
    const codes: string[] = [];
    const { kernel, pid } = await ran(await newStore(), async (ctx) => {
      await ctx.log('€'.repeat(5_000));
      await ctx.log('x'.repeat(4_096));
      await ctx.log('y'.repeat(10_000), { long: 'z'.repeat(4_000) });
      codes.push((await refusal(ctx.log('text', { long: 'z'.repeat(4_200) }))).code);
    });
    const { items } = await kernel.processes.logs(pid);
    for (const { text, facts } of items) {
      const bytes = Buffer.byteLength(text) + (facts === undefined ? 0 : Buffer.byteLength(JSON.stringify(facts)));
      expect(bytes).toBeLessThanOrEqual(4_096);
      expect(bytes).toBeGreaterThan(4_080);
    }
    expect(items[0]?.text).toMatch(/^€+…$/);
    expect(items[1]?.text).toBe('x'.repeat(4_096));
    expect(items[2]?.text).toMatch(/^y+…$/);
    expect([items.length, codes]).toEqual([3, ['INVALID_INPUT']]);
  });

  it('is refused where it is no text with a JSON object, and nothing is kept', async () => {
    const codes: string[] = [];
    const { kernel, pid } = await ran(await newStore(), async (ctx) => {
      const wrong: unknown[][] = [
        [5],
        [undefined],
        [{}],
        ['a', 5],
        ['a', [1]],
        ['a', null],
        ['a', { n: 5n }],
        ['a', new Map()],
      ];
      for (const args of wrong) codes.push((await refusal(ctx.log(...(args as [string])))).code);
    });
    expect(codes).toEqual(new Array(8).fill('INVALID_INPUT'));
    expect(await kernel.processes.logs(pid)).toEqual({ items: [] });
  });

  it('keeps the newest 1,000 lines, and is charged for those', async () => {
    const { kernel, pid } = await ran(await newStore(), async (ctx) => {
      for (let n = 1; n <= 1_003; n++) void ctx.log(`line ${String(n).padStart(4, '0')}`);
      await ctx.log('last 1004');
    });
    const { items } = await kernel.processes.logs(pid, { limit: 10_000 });
    expect(items).toHaveLength(1_000);
    expect([items[0]?.text, items.at(-1)?.text]).toEqual(['line 0005', 'last 1004']);
    expect((await kernel.processes.get(pid)).used.storedBytes).toBe(9_000);
  });

  it('is charged to storedBytes, with its facts, and refused where there is no room', async () => {
    const codes: string[] = [];
    const image = logging(async (ctx) => {
      await ctx.log('12345', { a: 1 });
      codes.push((await refusal(ctx.log('123456789'))).code);
    });
    const kernel = await openKernel({ images: [image] });
    const budget = { storedBytes: 20 };
    const pid = await kernel.processes.spawn({ image: 'logging', budget, onBudget: 'refuse' });
    await kernel.processes.result(pid);
    expect(codes).toEqual(['BUDGET_EXCEEDED']);
    expect((await kernel.processes.get(pid)).used.storedBytes).toBe(5 + '{"a":1}'.length);
    expect((await kernel.processes.logs(pid)).items).toHaveLength(1);
  });

  it('is not logged again by a rerun, and goes on after it', async () => {
    const store = await newStore();
    let runs = 0;
    const image = logging(async (ctx) => {
      const run = ++runs;
      await ctx.log(`before, in run ${run}`);
      await ctx.step('work', async () => void (await ctx.log('within')));
      await ctx.log('after');
      await ctx.waitSignal('go');
      await ctx.log(`done, in run ${run}`);
    });
    const first = await openKernel({ store, images: [image] });
    const pid = await first.processes.spawn({ image: 'logging' });
    await first.idle();
    await first.shutdown();
    const second = await openKernel({ store, images: [image] });
    await second.processes.signal(pid, 'user.go');
    expect(await second.processes.result(pid)).toMatchObject({ outcome: { kind: 'completed' } });
    expect(await textsOf(second, pid)).toEqual(['before, in run 1', 'within', 'after', 'done, in run 2']);
  });

  it('may be more or less in a changed body, which goes on all the same', async () => {
    const store = await newStore();
    const version = (lines: string[]) =>
      logging(async (ctx) => {
        for (const line of lines) await ctx.log(line);
        await ctx.step('work', () => 1);
        for (const line of lines) await ctx.log(line);
        await ctx.waitSignal('go');
        return 'done';
      });
    const kernels = [version(['a']), version(['a', 'b']), version([])];
    let pid: Pid | undefined;
    for (const image of kernels) {
      const kernel = await openKernel({ store, images: [image] });
      pid ??= await kernel.processes.spawn({ image: 'logging' });
      await kernel.idle();
      if (image === kernels.at(-1)) {
        await kernel.processes.signal(pid, 'user.go');
        expect((await kernel.processes.result(pid)).value).toBe('done');
        expect(await textsOf(kernel, pid)).toEqual(['a', 'a', 'a', 'b']);
      }
      await kernel.shutdown();
    }
  });

  it('within a step is logged by each attempt of it', async () => {
    let attempts = 0;
    const { kernel, pid } = await ran(await newStore(), async (ctx) => {
      await ctx.step(
        'work',
        async () => {
          await ctx.log(`attempt ${++attempts}`);
          if (attempts < 3) throw new Error('again');
        },
        { retry: { attempts: 3, baseMs: 1 } },
      );
    });
    expect(await textsOf(kernel, pid)).toEqual(['attempt 1', 'attempt 2', 'attempt 3']);
  });

  it('need not be awaited: it is written before the body ends, however that is', async () => {
    const bodies: [string, (ctx: Syscalls) => Promise<unknown>][] = [
      ['returned', async (ctx) => void ctx.log('last')],
      ['thrown', (ctx) => Promise.reject(new Error(String(void ctx.log('last'))))],
      [
        'exited',
        async (ctx) => {
          void ctx.log('last');
          await ctx.exit();
        },
      ],
    ];
    for (const [name, body] of bodies) {
      const { kernel, pid } = await ran(await newStore(), body);
      expect([name, await textsOf(kernel, pid)]).toEqual([name, ['last']]);
    }
  });

  it('waits while the process is paused, and is written while it is being stopped', async () => {
    const image = logging(async (ctx) => {
      await ctx.waitSignal('go').catch(() => ctx.log('stopped'));
    });
    const kernel = await openKernel({ images: [image] });
    const pid = await kernel.processes.spawn({ image: 'logging' });
    await eventually(async () => expect((await kernel.processes.get(pid)).status).toBe('waiting'));
    await kernel.processes.cancel(pid);
    await kernel.processes.result(pid);
    expect(await textsOf(kernel, pid)).toEqual(['stopped']);
    const held = logging(async (ctx) => void (await ctx.log('held')), 'held');
    kernel.images.register(held);
    const paused = await kernel.processes.spawn({ image: 'held', held: true });
    expect(await textsOf(kernel, paused)).toEqual([]);
    await kernel.processes.resume(paused);
    await kernel.processes.result(paused);
    expect(await textsOf(kernel, paused)).toEqual(['held']);
  });

  it('is stored without what looks like a secret', async () => {
    const store = await newStore();
    const { kernel, pid } = await ran(store, async (ctx) => {
      await ctx.log('calling with --password hunter2hunter2', {
        apiKey: 'hunter2hunter2',
        url: 'https://u:hunter2@h/',
        n: 3,
      });
    });
    const { items } = await kernel.processes.logs(pid);
    expect(items).toMatchObject([{ text: expect.stringContaining('calling with'), facts: { n: 3 } }]);
    expect(JSON.stringify(items)).not.toContain('hunter2');
    expect(JSON.stringify(await openRawTables(store).rows('process_logs'))).not.toContain('hunter2');
  });

  it('keeps counts, also of tokens and keys', async () => {
    const lines = [
      'tokens: 500',
      'token count = 12',
      'token_count=12',
      'max_tokens: 4096, keys: 3',
      'promptTokens=1,234 of 4096 completionTokens=13',
      'token: 7',
      '{"tokens":500}',
      'tokens: 80% used.',
    ];
    const { kernel, pid } = await ran(await newStore(), async (ctx) => {
      for (const line of lines) await ctx.log(line, { line });
    });
    const { items } = await kernel.processes.logs(pid);
    expect(items.map(({ text, facts }) => [text, facts])).toEqual(lines.map((line) => [line, { line }]));
  });

  it('drops secrets that stand beside counts or look like them', async () => {
    const lines = [
      ['tokens: 500, password: hunter2', 'tokens: 500, password: [redacted]'],
      ['tokens=500&api_key=hunter2', 'tokens=500&api_key=[redacted]'],
      ['token: ghp_abcd1234', 'token: [redacted]'],
      ['tokens: deadbeef', 'tokens: [redacted]'],
      ['tokens: 500deadbeef', 'tokens: [redacted]'],
      ['tokens: 3 hunter2', 'tokens: [redacted]'],
      ['token: 482913', 'token: [redacted]'],
      ['api_key=123', 'api_key=[redacted]'],
      ['password: 1234', 'password: [redacted]'],
      ['otp: 12', 'otp: [redacted]'],
      ['--token 500', '--token [redacted]'],
    ];
    const { kernel, pid } = await ran(await newStore(), async (ctx) => {
      for (const [line] of lines) await ctx.log(line ?? '');
    });
    const { items } = await kernel.processes.logs(pid);
    expect(items.map(({ text }) => text)).toEqual(lines.map(([, stored]) => stored));
  });

  it('drops what stands below the name of a secret, whatever its form, and keeps what counts', async () => {
    const hidden = '[redacted]';
    const members: [given: JsonObject, stored: JsonObject][] = [
      [{ password: 12_345_678 }, { password: hidden }],
      [{ otp: 482_913 }, { otp: hidden }],
      [{ 'pass word': 1234 }, { 'pass word': hidden }],
      [{ passwords: ['hunter2', 42, true] }, { passwords: [hidden, 42, true] }],
      [{ pwd: ['hunter2', [1234]] }, { pwd: [hidden, [hidden]] }],
      [
        { credentials: { user: 'ann', deep: { value: 'hunter2' } } },
        { credentials: { user: hidden, deep: { value: hidden } } },
      ],
      [{ headers: { Authorization: ['Bearer hunter2'] } }, { headers: { Authorization: [hidden] } }],
      [{ cookie: { a: 'hunter2', b: null } }, { cookie: { a: hidden, b: null } }],
      [{ 'password=hunter2': 1 }, { 'password=[redacted]': hidden }],
      [{ tokens: { input: 123_456, output: 7 } }, { tokens: { input: 123_456, output: 7 } }],
      [
        { tokens: 500, maxTokens: 128_000, token: 5, keys: [1, 2] },
        { tokens: 500, maxTokens: 128_000, token: 5, keys: [1, 2] },
      ],
      [
        { isSecret: true, author: 'ann' },
        { isSecret: true, author: 'ann' },
      ],
    ];
    const { kernel, pid } = await ran(await newStore(), async (ctx) => {
      for (const [given] of members) await ctx.log('facts', given);
    });
    const { items } = await kernel.processes.logs(pid);
    expect(items.map(({ facts }) => facts)).toEqual(members.map(([, stored]) => stored));
  });

  it('goes on with a process that execs', async () => {
    const kernel = await openKernel({
      images: [
        logging(async (ctx) => {
          void ctx.log('as first');
          await ctx.exec({ image: 'second' });
        }),
        logging(async (ctx) => void (await ctx.log('as second')), 'second'),
      ],
    });
    const pid = await kernel.processes.spawn({ image: 'logging' });
    await kernel.processes.result(pid);
    expect(await textsOf(kernel, pid)).toEqual(['as first', 'as second']);
  });
});

function logging(run: (ctx: Syscalls) => Promise<unknown>, name = 'logging') {
  return defineImage({ name, run: run as never });
}

async function ran(store: string, body: (ctx: Syscalls) => Promise<unknown>): Promise<{ kernel: Kernel; pid: Pid }> {
  const kernel = await openKernel({ store, durability: 'normal', images: [logging(body)] });
  const pid = await kernel.processes.spawn({ image: 'logging' });
  await kernel.processes.result(pid);
  return { kernel, pid };
}

async function textsOf(kernel: Kernel, pid: Pid): Promise<string[]> {
  return (await kernel.processes.logs(pid, { limit: 10_000 })).items.map(({ text }) => text);
}
