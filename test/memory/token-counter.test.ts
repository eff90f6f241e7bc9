import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { ContainerModule } from 'inversify';
import { describe, expect, it } from 'vitest';
import { createKernel, type JsonObject, type KernelOptions, Tokenizer } from '../../src/index.js';
import { newStore, refusal } from '../support/kernel.js';
import { type KernelFixture, kernelFixture } from '../support/kernel-fixture.js';
import { parentAndChildren } from '../support/memory/parent-and-children.js';
import { openRawTables } from '../support/storage/raw-tables.js';

/** A tokenizer of one token per character, which remembers what it has counted. */
class Letters implements Tokenizer {
  readonly texts: string[] = [];
  loads = 0;

  constructor(readonly name = 'letters') {}

  async load(): Promise<void> {
    this.loads++;
  }

  count(text: string): number {
    this.texts.push(text);
    return text.length;
  }
}

function withTokenizer(tokenizer: object): Pick<KernelOptions, 'modules'> {
  const module = new ContainerModule(({ bind }) => {
    bind(Tokenizer).toConstantValue(tokenizer as Tokenizer);
  });
  return { modules: [module] };
}

function recordingLogger() {
  const warnings: [JsonObject, string][] = [];
  const logger = {
    warn: (facts: JsonObject, message: string) => void warnings.push([facts, message]),
    error: () => undefined,
  };
  return { logger, warnings };
}

/** A kernel on the store, and the warnings of its opening. */
async function reopen(store: string, options: KernelOptions = {}) {
  const { logger, warnings } = recordingLogger();
  return { ...(await kernelFixture({ store, logger, ...options })), warnings };
}

async function keptCounter({ path }: Pick<KernelFixture, 'path'>): Promise<unknown> {
  return (await openRawTables(path).find('settings', { name: 'token_counter' }))?.value;
}

const text = 'Whales are mammals, and they live in the sea.';

describe('the tokens of an object', () => {
  it('are counted when it is written, by the tokenizer that is installed', async () => {
    const { kernel, path, parent, create } = await parentAndChildren();
    const handle = await create(parent, text);
    expect((await kernel.memory.read(parent, handle)).tokens).toBe(countTokens(text));
    await kernel.memory.update(parent, handle, { n: [1, 2] });
    const [first, second] = await kernel.memory.history(parent, handle);
    expect([first?.tokens, second?.tokens]).toEqual([
      countTokens(text),
      countTokens(JSON.stringify({ n: [1, 2] }, undefined, 2)),
    ]);
    expect(await keptCounter({ path })).toBe('o200k_base');
  });

  it('are counted for goals and results too', async () => {
    const { kernel } = await kernelFixture();
    const pid = await kernel.processes.spawn({ image: 'worker', goal: text });
    await kernel.processes.exit(pid, { result: { text } });
    const { items } = await kernel.memory.list({ pid });
    const counted = items.map(({ type, tokens }) => [type, tokens]).sort();
    expect(counted).toEqual([
      ['artifact', countTokens(text)],
      ['goal', countTokens(text)],
    ]);
  });

  it('are not counted again by materialize', async () => {
    const letters = new Letters();
    const { kernel, parent, create } = await parentAndChildren(await kernelFixture(withTokenizer(letters)));
    await create(parent, text, { title: 'Whales' });
    const written = letters.texts.length;
    for (let times = 0; times < 2; times++) {
      const context = await kernel.memory.materialize(parent, { tokensMax: 1_000 });
      expect([context.tokens, context.countedBy]).toEqual([context.text.length, 'letters']);
      expect(context.text).toContain(text);
    }
    const later = letters.texts.slice(written);
    expect(later.some((one) => one.includes('Whales ['))).toBe(true);
    expect(later.filter((one) => one.includes('mammals'))).toEqual([]);
  });

  it('come with what a child has written when it is merged, and are counted where the merge makes another payload', async () => {
    const letters = new Letters();
    const { kernel, parent, note, create, fork } = await parentAndChildren(await kernelFixture(withTokenizer(letters)));
    const other = await create(parent, { a: 1, b: 1 });
    const child = await fork({ mode: 'copy' });
    await kernel.memory.update(child, note, text);
    await kernel.memory.update(child, other, { a: 2, b: 1 });
    await kernel.memory.update(parent, other, { a: 1, b: 2 });
    await kernel.processes.exit(child);
    const written = letters.texts.length;
    await kernel.memory.merge(parent, child, 'fields');
    expect(letters.texts.slice(written).filter((one) => one.includes('mammals'))).toEqual([]);
    const merged = await kernel.memory.read(parent, other);
    expect([merged.payload, merged.tokens]).toEqual([
      { a: 2, b: 2 },
      JSON.stringify({ a: 2, b: 2 }, undefined, 2).length,
    ]);
    expect((await kernel.memory.read(parent, note)).tokens).toBe(text.length);
  });
});

describe('the counter of a store', () => {
  it('is named by the tokenizer of the first kernel that writes to it, and `custom` without a name', async () => {
    const { load, count } = { load: async () => undefined, count: (one: string) => one.length };
    const named = await kernelFixture(withTokenizer(new Letters('letters-2')));
    const unnamed = await kernelFixture(withTokenizer({ load, count }));
    expect([await keptCounter(named), await keptCounter(unnamed)]).toEqual(['letters-2', 'custom']);
    await unnamed.kernel.shutdown();
    const { kernel, warnings } = await reopen(unnamed.path, withTokenizer({ load, count }));
    const pid = await kernel.processes.spawn({ image: 'worker' });
    expect([(await kernel.memory.materialize(pid, { tokensMax: 100 })).countedBy, warnings]).toEqual(['custom', []]);
  });

  it('is not replaced by another tokenizer: a kernel without it warns and estimates', async () => {
    const letters = new Letters();
    const { kernel, path, parent, create } = await parentAndChildren(await kernelFixture(withTokenizer(letters)));
    const handle = await create(parent, text);
    await kernel.shutdown();
    const other = new Letters('others');
    const shouted = text.toUpperCase();
    for (const [own, options] of [
      ['o200k_base', {}],
      ['others', withTokenizer(other)],
    ] as const) {
      const opened = await reopen(path, options);
      expect(opened.warnings).toEqual([[{ store: 'letters', kernel: own }, expect.stringContaining('estimates')]]);
      const made = await opened.kernel.memory.create(parent, { type: 'claim', payload: shouted });
      const { tokens } = await opened.kernel.memory.read(parent, made);
      expect([tokens === countTokens(shouted), tokens === text.length]).toEqual([false, false]);
      expect((await opened.kernel.memory.read(parent, handle)).tokens).toBe(text.length);
      expect((await opened.kernel.memory.materialize(parent, { tokensMax: 1_000 })).countedBy).toBe('estimate');
      await opened.kernel.shutdown();
    }
    expect([other.texts, other.loads, await keptCounter({ path })]).toEqual([[], 0, 'letters']);
  });

  it('counts what was written by a kernel without it, when that is first needed', async () => {
    const first = await parentAndChildren(await kernelFixture(withTokenizer(new Letters())));
    await first.kernel.shutdown();
    const without = await reopen(first.path);
    const made = await without.kernel.memory.create(first.parent, { type: 'claim', payload: text });
    const child = await without.kernel.processes.fork(first.parent, { image: 'worker', mode: 'copy' });
    await without.kernel.memory.update(child, first.note, `${text} ${text}`);
    await without.kernel.shutdown();
    const letters = new Letters();
    const { kernel } = await reopen(first.path, withTokenizer(letters));
    expect((await kernel.memory.read(first.parent, made)).tokens).not.toBe(text.length);
    for (const pid of [first.parent, child]) {
      const context = await kernel.memory.materialize(pid, { tokensMax: 10_000 });
      expect([context.tokens, context.text.includes(text)]).toEqual([context.text.length, true]);
    }
    expect((await kernel.memory.read(first.parent, made)).tokens).toBe(text.length);
    expect((await kernel.memory.read(child, first.note)).tokens).toBe(2 * text.length + 1);
    const counted = letters.texts.length;
    await kernel.memory.materialize(first.parent, { tokensMax: 10_000 });
    await kernel.memory.materialize(child, { tokensMax: 10_000 });
    expect(letters.texts.slice(counted).filter((one) => one.includes('mammals'))).toEqual([]);
  });

  it('counts the objects of a store of an earlier release when they are first needed', async () => {
    const { kernel, path, parent, create } = await parentAndChildren();
    const handle = await create(parent, text);
    await kernel.shutdown();
    await toMigrated(path);
    const opened = await reopen(path);
    expect([await keptCounter(opened), opened.warnings]).toEqual(['o200k_base', []]);
    expect((await opened.kernel.memory.read(parent, handle)).tokens).toBe(1);
    const { tokens, text: context } = await opened.kernel.memory.materialize(parent, { tokensMax: 1_000 });
    expect(countTokens(context)).toBeLessThanOrEqual(tokens);
    expect((await opened.kernel.memory.read(parent, handle)).tokens).toBe(countTokens(text));
  });

  it.each([
    ['whose load fails', { load: () => Promise.reject(new Error('no table')), count: () => 1 }],
    [
      'that throws',
      {
        load: async () => undefined,
        count: () => {
          throw new Error('no table');
        },
      },
    ],
    ['that answers with no number', { load: async () => undefined, count: () => Number.NaN }],
    ['that answers with less than nothing', { load: async () => undefined, count: () => -1 }],
  ])('is estimated with a warning for a tokenizer %s', async (_, tokenizer) => {
    const { kernel, warnings } = await reopen(await newStore(), withTokenizer(tokenizer));
    const pid = await kernel.processes.spawn({ image: 'worker', goal: text });
    const { tokens, countedBy } = await kernel.memory.materialize(pid, { tokensMax: 1_000 });
    expect([tokens > 0, countedBy]).toEqual([true, 'estimate']);
    expect(warnings).toEqual([[expect.objectContaining({ tokenizer: 'custom' }), expect.stringContaining('failed')]]);
  });

  it.each(['estimate', '', 'x'.repeat(101), 5])('cannot have the name %j', async (name) => {
    const store = await newStore();
    const tokenizer = { name, load: async () => undefined, count: () => 1 };
    const { code, facts } = await refusal(createKernel({ store, logger: 'silent', ...withTokenizer(tokenizer) }));
    expect([code, facts]).toMatchObject(['INVALID_INPUT', { path: 'Tokenizer.name' }]);
    const tables = openRawTables(store);
    expect([await tables.count('settings'), await tables.count('audit_records')]).toEqual([0, 0]);
  });
});

/** What the migration makes of the rows of an earlier release: they have an estimate, and the store has no counter. */
async function toMigrated(path: string): Promise<void> {
  const tables = openRawTables(path);
  for (const table of ['objects', 'object_versions', 'overlays'])
    await tables.update(table, {}, { tokens: 1, is_counted: 0 });
  await tables.delete('settings', { name: 'token_counter' });
}
