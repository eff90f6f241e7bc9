import fc from 'fast-check';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { ContainerModule } from 'inversify';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type JsonValue, Tokenizer } from '../../src/index.js';
import { checkInvariants } from '../support/invariants.js';
import { refusal } from '../support/kernel.js';
import { kernelFixture } from '../support/kernel-fixture.js';
import { parentAndChildren } from '../support/memory/parent-and-children.js';
import { runsOnStore } from '../support/seeded.js';
import { isSqlite } from '../support/store-kind.js';

const count = (text: string) => countTokens(text, { disallowedSpecial: new Set() });

const code = fc.constantFrom(
  'export async function f(x: number): Promise<void> {\n\treturn;\n}\n',
  'SELECT * FROM t WHERE a <> b;',
  '{"a":[1,2,{"b":null}]}',
  '<|endoftext|><|im_start|>system',
);
const text = fc.oneof(
  fc.string({ maxLength: 300 }),
  fc.string({ unit: 'grapheme', maxLength: 200 }),
  fc
    .array(
      fc.constantFrom('👩‍👩‍👧‍👦', '🇩🇪', 'é', 'ß', '漢字', 'नमस्ते', ' ', '\n', '\r\n', '/', '\ufeff', '"=>', '```'),
      { maxLength: 60 },
    )
    .map((all) => all.join('')),
  fc.array(code, { maxLength: 6 }).map((all) => all.join('')),
  fc.tuple(fc.constantFrom('a', '=', ' ', '\n', '🎉', '漢'), fc.nat({ max: 700 })).map(([one, n]) => one.repeat(n)),
);
const payload = fc.oneof<fc.Arbitrary<JsonValue>[]>(
  text,
  text.map((one) => ({ text: one })),
  fc.jsonValue({ maxDepth: 3 }).filter((one) => JSON.stringify(one).isWellFormed()) as fc.Arbitrary<JsonValue>,
);

describe('materialize', () => {
  it('never passes its limit, by the count of the tokenizer itself, and tells of every object', async () => {
    const { kernel } = await kernelFixture();
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(payload, fc.constantFrom('plan', 'claim', 'error', 'evidence')), { maxLength: 12 }),
        fc.nat({ max: 600 }),
        fc.constantFrom('plan', 'evidence', 'recent', 'errors'),
        async (objects, tokensMax, order) => {
          const pid = await kernel.processes.spawn({ image: 'worker' });
          for (const [one, type] of objects) {
            await kernel.memory.create(pid, { type, payload: one }).catch((error: unknown) => {
              // Payloads may not have keys such as `__proto__`.
              expect(error).toMatchObject({ code: 'INVALID_INPUT' });
            });
          }
          const context = await kernel.memory.materialize(pid, { tokensMax, order });
          expect(count(context.text)).toBeLessThanOrEqual(context.tokens);
          expect(context.tokens).toBeLessThanOrEqual(tokensMax);
          const inView = (await kernel.memory.view(pid)).roots.map(({ id }) => id);
          expect(context.manifest.map(({ object }) => object).sort()).toEqual(inView.sort());
          for (const { object, included, reason } of context.manifest) {
            expect([included, context.text.includes(`[${object} v`)]).toEqual([
              reason === 'selected',
              reason === 'selected',
            ]);
          }
          expect((await kernel.processes.budget(pid)).materializedTokens.used).toBe(context.tokens);
        },
      ),
      { numRuns: runsOnStore(150), seed: 20_250_202 },
    );
  }, 60_000);

  it('says of each object of the view why it is there or not', async () => {
    const { kernel, path, parent, note, create } = await parentAndChildren();
    const goal = (await kernel.processes.get(parent)).goal;
    const [long, other, gone] = [
      await create(parent, 'word '.repeat(500)),
      await create(parent, 'other', { type: 'error' }),
      await create(parent, 'gone'),
    ];
    const lent = await create(await kernel.processes.spawn({ image: 'worker' }), 'lent');
    await kernel.capabilities.grant(parent, { resource: `object:${lent.id}`, rights: ['read'] });
    await kernel.memory.addToView(parent, lent.id);
    await kernel.memory.delete(parent, gone);
    const { text, tokens, manifest } = await kernel.memory.materialize(parent, {
      tokensMax: 200,
      types: ['goal', 'claim'],
    });
    const told = manifest.map(({ object, included, reason, version }) => [object, included, reason, version]);
    const expected = [
      [goal, true, 'selected', 1],
      [long.id, false, 'token_budget', 1],
      [note.id, true, 'selected', 1],
      [other.id, false, 'filter', 1],
      [gone.id, false, 'missing', 0],
      [lent.id, false, 'capability_denied', 0],
    ];
    expect(told.sort()).toEqual(expected.sort());
    expect(text.includes('"n": 1')).toBe(true);
    const [record] = (await kernel.audit.list({ action: 'memory.materialize' })).items;
    expect([record?.target, record?.outcome]).toEqual([parent, 'ok']);
    const events = (await kernel.events.list({ types: ['context.materialized'] })).items;
    expect(events.map(({ pid, data }) => [pid, data])).toEqual([[parent, { tokens, included: 2, omitted: 4 }]]);
    await checkInvariants(kernel, path);
  });

  it('selects by a query over names, titles, tags and payloads', async () => {
    const { kernel, parent, create } = await parentAndChildren();
    await create(parent, 'one', { title: 'About Whales' });
    await create(parent, { deep: ['whale'] });
    await create(parent, 'three', { tags: ['whales'] });
    await create(parent, 'four');
    const { manifest } = await kernel.memory.materialize(parent, { tokensMax: 1_000, query: 'WHALE' });
    expect(manifest.filter(({ included }) => included).length).toBe(3);
  });

  it.each(['plan', 'evidence', 'recent', 'errors'] as const)('puts first what the order %s names', async (order) => {
    const { kernel, parent, create } = await parentAndChildren();
    for (const type of ['error', 'evidence', 'plan', 'message'] as const) await create(parent, type, { type });
    const { text } = await kernel.memory.materialize(parent, { tokensMax: 1_000, order });
    const types = [...text.matchAll(/^## (\w+)/gm)].map(([, type]) => type);
    const first = { plan: 'plan', evidence: 'evidence', errors: 'error', recent: 'message' };
    expect(types[order === 'recent' ? 0 : 1]).toBe(first[order]);
  });

  it('gives the same text for the same view, also after it was opened again, and a copy its own', async () => {
    const { kernel, path, parent, note, create, fork } = await parentAndChildren();
    for (let n = 0; n < 50; n++) await create(parent, { n, text: 'x'.repeat(n) });
    const child = await fork({ mode: 'copy' });
    await kernel.memory.update(child, note, 'the child’s');
    const options = { tokensMax: 900 };
    const one = await kernel.memory.materialize(parent, options);
    const two = await kernel.memory.materialize(parent, options);
    await kernel.shutdown();
    const again = (await kernelFixture({ store: path })).kernel;
    expect([two, await again.memory.materialize(parent, options)]).toEqual([one, one]);
    const all = { tokensMax: 100_000 };
    expect((await again.memory.materialize(parent, all)).text.includes('the child’s')).toBe(false);
    expect((await again.memory.materialize(child, all)).text.includes('the child’s')).toBe(true);
  });

  it('charges what it gives, and nothing where the budget refuses it', async () => {
    const { kernel, path, refused } = await kernelFixture();
    const pid = await kernel.processes.spawn({ image: 'worker', budget: { materializedTokens: 100 } });
    await kernel.memory.create(pid, { type: 'claim', payload: 'word '.repeat(40) });
    const { tokens } = await kernel.memory.materialize(pid, { tokensMax: 90 });
    const { code, facts } = await refused(() => kernel.memory.materialize(pid, { tokensMax: 90 }));
    expect([code, facts]).toMatchObject([
      'BUDGET_EXCEEDED',
      { dimension: 'materializedTokens', limit: 100, used: tokens, asked: tokens },
    ]);
    expect((await kernel.processes.budget(pid)).materializedTokens.used).toBe(tokens);
    expect(await kernel.memory.materialize(pid, { tokensMax: 0 })).toMatchObject({ text: '', tokens: 0 });
    await checkInvariants(kernel, path);
  });

  it('refuses a limit that is none, and a process that has ended', async () => {
    const { kernel, parent } = await parentAndChildren();
    for (const tokensMax of [-1, 0.5, Number.NaN, '5' as never]) {
      expect((await refusal(kernel.memory.materialize(parent, { tokensMax }))).code).toBe('INVALID_INPUT');
    }
    await kernel.processes.exit(parent);
    expect((await refusal(kernel.memory.materialize(parent, { tokensMax: 1 }))).code).toBe('PROCESS_TERMINATED');
  });

  it('counts by the tokenizer that a module brings', async () => {
    let loads = 0;
    const letters = { load: async () => void loads++, count: (all: string) => all.length };
    const module = new ContainerModule(({ bind }) => {
      bind(Tokenizer).toConstantValue(letters);
    });
    const { kernel, parent } = await parentAndChildren(await kernelFixture({ modules: [module] }));
    const { text, tokens } = await kernel.memory.materialize(parent, { tokensMax: 60 });
    expect([tokens, tokens <= 60, loads]).toEqual([text.length, true, 1]);
  });

  it('takes what looks like a token of the model’s own for text', async () => {
    // Regression: the tokenizer threw.
    const { kernel, parent, create } = await parentAndChildren();
    await create(parent, 'before <|endoftext|> after <|im_start|>');
    const { text } = await kernel.memory.materialize(parent, { tokensMax: 1_000 });
    expect(text.includes('<|endoftext|>')).toBe(true);
  });

  it.each(['a', '=', '👩‍👩‍👧‍👦', '漢字', ' '])('counts a long run of %j in the time that words take', async (one) => {
    // Regression: the time was quadratic in the length, minutes for the largest payload.
    const { kernel, parent, create } = await parentAndChildren();
    await create(parent, one.repeat(Math.floor(500_000 / Buffer.byteLength(one))));
    const { manifest } = await kernel.memory.materialize(parent, { tokensMax: 1_000 });
    expect(manifest.filter(({ reason }) => reason === 'token_budget').length).toBe(1);
  });

  it('renders a large view while others go on working', async () => {
    const { kernel, parent, create } = await parentAndChildren();
    const count = isSqlite ? 3_000 : 1_200;
    await Promise.all(Array.from({ length: count }, (_, n) => create(parent, { n, text: 'some words '.repeat(20) })));
    // A millisecond passes with every look at the clock, on whatever machine.
    let now = performance.now();
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => ++now);
    onTestFinished(() => void clock.mockRestore());
    let turns = 0;
    let next = setImmediate(function count() {
      turns++;
      next = setImmediate(count);
    });
    const { tokens, manifest } = await kernel.memory.materialize(parent, { tokensMax: 50_000 });
    clearImmediate(next);
    expect([tokens > 45_000, tokens <= 50_000, manifest.length]).toEqual([true, true, count + 2]);
    expect(turns).toBeGreaterThan(100);
  });
});
