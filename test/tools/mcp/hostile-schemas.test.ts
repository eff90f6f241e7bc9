import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { McpProgram } from '../../../src/index.js';
import { openKernel, refusal, tempFolder } from '../../support/kernel.js';
import { isSqlite } from '../../support/store-kind.js';
import { mcpFixture, testProgram } from '../../support/tools/mcp-servers.js';

const anything = { type: 'object' };
const slowText = `${'a'.repeat(60)}!`;
/** Schemas of a property `x`, each with a value that takes practically forever to validate. */
const bombs = {
  pattern: { schema: { pattern: '^(a+)+$' }, value: slowText },
  alternatives: { schema: { pattern: '^(a|a|aa)*$' }, value: slowText },
  propertyNames: { schema: { propertyNames: { pattern: '^(\\w+\\s?)*$' } }, value: { [`${'a'.repeat(80)}!`]: 1 } },
  patternProperties: { schema: { patternProperties: { '^(a*)*b$': {} } }, value: { ['a'.repeat(80)]: 1 } },
  uniqueItems: {
    schema: { uniqueItems: true },
    value: Array.from({ length: 60_000 }, (_, n) => ({ n })),
  },
  references: { schema: { $ref: '#/$defs/d0' }, value: 'x' },
} satisfies Record<string, { schema: object; value: unknown }>;
const definitions = Object.fromEntries(
  Array.from({ length: 40 }, (_, n) => [
    `d${n}`,
    { anyOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] },
  ]),
);
const schemaOf = (schema: object) => ({
  type: 'object',
  properties: { x: schema },
  $defs: { ...definitions, d40: { const: 'never' } },
});

function listing(content: object): McpProgram {
  const file = join(tempFolder(), 'list.json');
  writeFileSync(file, JSON.stringify(content));
  return testProgram('listing.mjs', file);
}

// Schemas are validated in a thread that has nothing to do with the store: one kind of store is enough.
describe.runIf(isSqlite)('a schema of a server that takes forever', () => {
  for (const [name, { schema, value }] of Object.entries(bombs)) {
    it(`ends for arguments with INVALID_INPUT, and the event loop goes on meanwhile: ${name}`, async () => {
      const { kernel, call } = await mcpFixture();
      await kernel.tools.connectMcp('s', listing({ pages: [[{ name: 'bomb', inputSchema: schemaOf(schema) }]] }));
      const ticks = { count: 0 };
      const ticker = setInterval(() => ticks.count++, 5);
      const refused = await refusal(call('mcp/s/bomb', { x: value }));
      clearInterval(ticker);
      expect(refused).toMatchObject({ code: 'INVALID_INPUT', facts: { tool: 'mcp/s/bomb', path: 'args' } });
      expect(ticks.count).toBeGreaterThan(10);
      expect(await call('mcp/s/bomb', {})).toEqual({ text: 'called bomb' });
    });
  }

  for (const name of ['pattern', 'uniqueItems', 'references'] as const) {
    const { schema, value } = bombs[name];
    it(`ends for results with TOOL_FAILED: ${name}`, async () => {
      const { kernel, call } = await mcpFixture();
      const tool = { name: 'bomb', inputSchema: anything, outputSchema: schemaOf(schema) };
      const results = { bomb: { content: [], structuredContent: { x: value } } };
      await kernel.tools.connectMcp('s', listing({ pages: [[tool]], results }));
      expect(await refusal(call('mcp/s/bomb'))).toMatchObject({
        code: 'TOOL_FAILED',
        facts: { tool: 'mcp/s/bomb', path: 'result' },
      });
      const records = (await kernel.audit.list({ action: 'tool.call' })).items.map(({ outcome }) => outcome);
      expect(records).toEqual(['intent', 'failed']);
    });
  }

  it('counts against the time of the call', async () => {
    const { kernel, call } = await mcpFixture();
    const tool = { name: 'bomb', inputSchema: schemaOf({ pattern: '^(a+)+$' }) };
    await kernel.tools.connectMcp('s', listing({ pages: [[tool]] }));
    expect(await refusal(call('mcp/s/bomb', { x: slowText }, 100))).toMatchObject({
      code: 'TOOL_TIMEOUT',
      facts: { timeoutMs: 100 },
    });
  });

  it('neither holds up the calls of other servers nor those of good values', async () => {
    const { kernel, call } = await mcpFixture();
    const bad = { name: 'bomb', inputSchema: schemaOf({ pattern: '^(a+)+$' }) };
    const good = { name: 'good', inputSchema: schemaOf({ type: 'integer' }) };
    await kernel.tools.connectMcp('bad', listing({ pages: [[bad]] }));
    await kernel.tools.connectMcp('good', listing({ pages: [[good]] }));
    const order: string[] = [];
    const note = (name: string) => () => void order.push(name);
    const bombsCalled = Array.from({ length: 12 }, () =>
      refusal(call('mcp/bad/bomb', { x: slowText })).then(note('bad')),
    );
    const fine = call('mcp/good/good', { x: 1 }).then(note('good'));
    await Promise.all([...bombsCalled, fine]);
    expect(order.at(-1)).toBe('bad');
    expect(await refusal(call('mcp/good/good', { x: 'one' }))).toMatchObject({
      code: 'INVALID_INPUT',
      facts: { path: 'args.x' },
    });
    expect(await call('mcp/bad/bomb', { x: 'aaa' })).toEqual({ text: 'called bomb' });
  });

  it('needs more memory than it may have: the call is refused and the kernel lives', async () => {
    const { kernel, call } = await mcpFixture();
    // Each level tries the level below twice and collects the errors of both.
    const tool = { name: 'bomb', inputSchema: schemaOf({ $ref: '#/$defs/d18' }) };
    await kernel.tools.connectMcp('s', listing({ pages: [[tool]] }));
    const refused = await refusal(call('mcp/s/bomb', { x: 'x' }));
    expect(refused).toMatchObject({ code: 'INVALID_INPUT' });
    expect(await call('mcp/s/bomb', {})).toEqual({ text: 'called bomb' });
  });

  it('is not registered when it cannot be compiled in time, and the others are', async () => {
    const { kernel, call, warnings } = await mcpFixture();
    const deep = (depth: number): object => (depth === 0 ? {} : { properties: { a: deep(depth - 1) } });
    const huge = {
      type: 'object',
      properties: Object.fromEntries(Array.from({ length: 9_000 }, (_, n) => [`p${n}`, {}])),
    };
    const listed = [
      { name: 'deep', inputSchema: { type: 'object', ...deep(100) } },
      { name: 'huge', inputSchema: { ...huge, allOf: [{ $ref: '#/properties/none' }] } },
      { name: 'async', inputSchema: { type: 'object', $async: true } },
      { name: 'good', inputSchema: anything },
    ];
    const { tools } = await kernel.tools.connectMcp('s', listing({ pages: [listed] }));
    expect(tools.map(({ name }) => name)).toEqual(['mcp/s/good']);
    expect(await call('mcp/s/good')).toEqual({ text: 'called good' });
    expect(warnings).toHaveLength(3);
  });
});

describe.runIf(isSqlite)('schemas of several servers', () => {
  it('may have the same $id and differ', async () => {
    const kernel = await openKernel();
    const pid = await kernel.processes.spawn({ capabilities: [{ resource: 'tool:mcp/**', rights: ['call'] }] });
    for (const [server, type] of [
      ['a', 'string'],
      ['b', 'number'],
    ] as const) {
      const inputSchema = { $id: 'https://example.com/same', type: 'object', properties: { x: { type } } };
      await kernel.tools.connectMcp(server, listing({ pages: [[{ name: 't', inputSchema }]] }));
    }
    const { tools } = kernel.as(pid);
    await tools.call('mcp/a/t', { x: 'text' });
    await tools.call('mcp/b/t', { x: 1 });
    expect(await refusal(tools.call('mcp/a/t', { x: 1 }))).toMatchObject({ code: 'INVALID_INPUT' });
    expect(await refusal(tools.call('mcp/b/t', { x: 'text' }))).toMatchObject({ code: 'INVALID_INPUT' });
  });
});
