import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { defineTool, type McpProgram } from '../../../src/index.js';
import { eventually } from '../../support/eventually.js';
import { refusal, tempFolder } from '../../support/kernel.js';
import { failureOf, mcpFixture, npmServer, testProgram } from '../../support/tools/mcp-servers.js';

const anything = { type: 'object' };

describe('the tools of a server', () => {
  it('have its descriptions and schemas, and the effects that its hints tell', async () => {
    const { kernel } = await mcpFixture();
    const { tools } = await kernel.tools.connectMcp('all', npmServer('server-everything'));
    expect(tools.find(({ name }) => name === 'mcp/all/get-sum')).toMatchObject({
      description: 'Returns the sum of two numbers',
      effect: 'pure',
      input: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
    });
    expect(tools.find(({ name }) => name === 'mcp/all/get-structured-content')).toMatchObject({
      output: { type: 'object', required: ['temperature', 'conditions', 'humidity'] },
    });
    expect(kernel.tools.list().filter(({ name }) => name.startsWith('mcp/all/'))).toEqual(tools);
  });

  it('have the worst effect where the server says nothing, and the one that the host says before all', async () => {
    const { kernel } = await mcpFixture();
    const hints = [{ readOnlyHint: true }, { idempotentHint: true }, { readOnlyHint: true }, undefined];
    const listed = hints.map((annotations, n) => ({ name: `t${n}`, inputSchema: anything, annotations }));
    const target = { ...listing({ pages: [listed] }), effects: { t2: 'once', constructor: 'pure' } as const };
    const { tools } = await kernel.tools.connectMcp('s', target);
    expect(tools.map(({ effect }) => effect)).toEqual(['pure', 'idempotent', 'once', 'once']);
    const wrong = { ...target, effects: { t2: 'never' as 'once' } };
    expect(await refusal(kernel.tools.connectMcp('t', wrong))).toMatchObject({
      code: 'INVALID_INPUT',
      facts: { path: 'target.effects.t2' },
    });
  });

  it('are called with arguments that fit the schema, and with no others', async () => {
    const { kernel, call } = await mcpFixture();
    await kernel.tools.connectMcp('all', npmServer('server-everything'));
    expect(await call('mcp/all/get-sum', { a: 1, b: 2 })).toEqual({ text: 'The sum of 1 and 2 is 3.' });
    expect(await refusal(call('mcp/all/get-sum', { a: 1, b: 'two' }))).toMatchObject({
      code: 'INVALID_INPUT',
      facts: { path: 'args.b', tool: 'mcp/all/get-sum' },
    });
  });

  it('are read from all pages of the list', async () => {
    const { kernel, call } = await mcpFixture();
    const pages = [0, 1, 2].map((page) => [0, 1].map((n) => ({ name: `t${page}${n}`, inputSchema: anything })));
    const { tools } = await kernel.tools.connectMcp('s', listing({ pages }));
    expect(tools.map(({ name }) => name)).toEqual(['00', '01', '10', '11', '20', '21'].map((n) => `mcp/s/t${n}`));
    expect(await call('mcp/s/t21')).toEqual({ text: 'called t21' });
  });

  it('are shown up to a thousand, and others get their turns while they are read', async () => {
    const { kernel, call, warnings } = await mcpFixture();
    const listed = Array.from({ length: 1_200 }, (_, n) => ({
      name: `t${n}`,
      description: 'd'.repeat(n === 0 ? 20_000 : 10),
      inputSchema: { type: 'object', properties: { n: { const: n } } },
    }));
    const { tools } = await kernel.tools.connectMcp('s', listing({ pages: [listed] }));
    expect(tools).toHaveLength(1_000);
    expect(tools[0]?.description).toHaveLength(8_193);
    expect(await call('mcp/s/t999', { n: 999 })).toEqual({ text: 'called t999' });
    expect(await refusal(call('mcp/s/t999', { n: 1 }))).toMatchObject({ code: 'INVALID_INPUT' });
    expect(await refusal(call('mcp/s/t1000', { n: 1 }))).toMatchObject({ code: 'NO_SUCH_TOOL' });
    expect(warnings.map(({ message }) => message)).toEqual(['MCP server s has more tools than are shown']);
  });

  it('are left out when they cannot be used, and the others work', async () => {
    const { kernel, call, warnings } = await mcpFixture();
    kernel.tools.register(
      defineTool({ name: 'mcp/s/mine', description: 'Mine.', input: anything, effect: 'pure', run: () => 1 }),
    );
    const listed = [
      { name: 'good', inputSchema: anything },
      { name: 'pattern', inputSchema: { type: 'object', properties: { a: { pattern: '(' } } } },
      { name: 'elsewhere', inputSchema: { type: 'object', properties: { a: { $ref: 'https://example.com/a' } } } },
      {
        name: 'output',
        inputSchema: anything,
        outputSchema: { type: 'object', properties: { a: { type: 'nothing' } } },
      },
      { name: 'large', inputSchema: { type: 'object', description: 'x'.repeat(300_000) } },
      { name: 'mine', inputSchema: anything },
      { name: 'good', inputSchema: anything },
    ];
    const { tools } = await kernel.tools.connectMcp('s', listing({ pages: [listed] }));
    expect(tools.map(({ name }) => name)).toEqual(['mcp/s/good']);
    expect(await call('mcp/s/good')).toEqual({ text: 'called good' });
    expect(warnings.map(({ facts }) => facts.tool)).toEqual(
      ['good', 'pattern', 'elsewhere', 'output', 'large', 'mine'].map((name) => `mcp/s/${name}`),
    );
  });

  it('have names that can be written in a capability, whatever the server calls them', async () => {
    const { kernel, call, warnings } = await mcpFixture();
    const names = [
      'send mail',
      'send_mail',
      '../up',
      'a//b',
      'ümlaut',
      '',
      `${'l'.repeat(130)}1`,
      `${'l'.repeat(130)}2`,
    ];
    const listed = names.map((name) => ({ name, inputSchema: anything }));
    const { tools } = await kernel.tools.connectMcp('s', listing({ pages: [listed] }));
    const shown = tools.map(({ name }) => name.slice('mcp/s/'.length));
    expect(shown.slice(0, 5)).toEqual(['send_mail', '_/up', 'a/_/b', '_mlaut', '_']);
    const [first = '', second = ''] = tools.slice(5).map(({ name }) => name);
    expect(first).not.toBe(second);
    expect(await call('mcp/s/send_mail')).toEqual({ text: 'called send mail' });
    expect(await call('mcp/s/_/up')).toEqual({ text: 'called ../up' });
    expect(await call(first)).toEqual({ text: `called ${names[6]}` });
    expect(warnings).toMatchObject([{ facts: { tool: 'mcp/s/send_mail' } }]);
  });
});

describe('a server that changes its tools', () => {
  it.each([
    ['of 2025', []],
    ['of 2026', ['--modern']],
  ])('and is %s has them changed here too', async (_, args) => {
    const { kernel, call } = await mcpFixture();
    const connection = await kernel.tools.connectMcp('s', testProgram('changing.mjs', ...args));
    const names = () => connection.tools.map(({ name }) => name);
    const before = names();
    expect(await refusal(call('mcp/s/extra'))).toMatchObject({ code: 'NO_SUCH_TOOL' });
    await call('mcp/s/grow');
    await eventually(() => expect(names()).toEqual([...before, 'mcp/s/extra']));
    expect(await call('mcp/s/extra')).toEqual({ text: 'extra' });
    await call('mcp/s/change');
    const extra = () => connection.tools.find(({ name }) => name === 'mcp/s/extra');
    await eventually(() => expect(extra()?.input).toMatchObject({ required: ['n'] }));
    expect(await call('mcp/s/extra', { n: 5 })).toEqual({ text: '5' });
    expect(await refusal(call('mcp/s/extra'))).toMatchObject({ code: 'INVALID_INPUT' });
    await call('mcp/s/shrink');
    await eventually(() => expect(names()).toEqual(before));
    expect(await refusal(call('mcp/s/extra'))).toMatchObject({ code: 'NO_SUCH_TOOL' });
    const { items } = await kernel.events.list({ types: ['tools.changed'] });
    expect(items.map(({ data }) => data)).toEqual([
      { server: 's', added: before.length, removed: 0, changed: 0 },
      { server: 's', added: 1, removed: 0, changed: 0 },
      { server: 's', added: 0, removed: 0, changed: 1 },
      { server: 's', added: 0, removed: 1, changed: 0 },
    ]);
  });
});

describe('what a call gives back', () => {
  it('is structured where the server says so, a text, or all parts', async () => {
    const { kernel, call } = await mcpFixture();
    const image = { type: 'image', data: 'AAAA', mimeType: 'image/png' };
    const text = { type: 'text', text: '{"a":1}' };
    const results = {
      declared: { structuredContent: { a: 1 }, content: [text] },
      structured: { structuredContent: { a: 1 }, content: [text] },
      both: { structuredContent: { a: 1 }, content: [text, image] },
      text: { content: [text] },
      image: { content: [image] },
      parts: { content: [text, image] },
      empty: { content: [] },
    };
    const outputSchema = { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] };
    const listed = Object.keys(results).map((name) => ({
      name,
      inputSchema: anything,
      ...(name === 'declared' ? { outputSchema } : {}),
    }));
    await kernel.tools.connectMcp('s', listing({ pages: [listed], results }));
    expect(await call('mcp/s/declared')).toEqual({ a: 1 });
    expect(await call('mcp/s/structured')).toEqual({ a: 1 });
    expect(await call('mcp/s/both')).toEqual(results.both);
    expect(await call('mcp/s/text')).toEqual({ text: '{"a":1}' });
    expect(await call('mcp/s/image')).toEqual({ content: [image] });
    expect(await call('mcp/s/parts')).toEqual({ content: [text, image] });
    expect(await call('mcp/s/empty')).toEqual({ content: [] });
  });

  it('is cut where it is too long for a result, and says so', async () => {
    const { kernel, call } = await mcpFixture();
    await kernel.tools.connectMcp('s', testProgram('changing.mjs'));
    const mebibyte = 1024 * 1024;
    expect(await call('mcp/s/big', { bytes: 10 })).toEqual({ text: 'x'.repeat(10) });
    const cut = (await call('mcp/s/big', { bytes: 3 * mebibyte })) as { text: string };
    expect({ ...cut, text: cut.text.slice(0, 3) }).toEqual({ text: 'xxx', truncated: true, bytes: 3 * mebibyte + 11 });
    expect(cut.text.length).toBeGreaterThan(0.8 * mebibyte);
    const parts = (await call('mcp/s/parts', { bytes: 2 * mebibyte })) as { content: { text: string }[] };
    expect(parts).toMatchObject({ truncated: true, omitted: 1 });
    expect(parts.content.map(({ text }) => text.slice(0, 5))).toEqual(['first', 'yyyyy', 'last']);
  });

  it('is a failure when the server says that it is, or when it cannot be a result', async () => {
    const { kernel, call } = await mcpFixture();
    const results = {
      error: { isError: true, content: [{ type: 'text', text: 'no space left' }] },
      wrong: { structuredContent: { a: 'one' }, content: [] },
      large: { structuredContent: { a: 'x'.repeat(1024 * 1024) }, content: [] },
      nothing: {},
    };
    const outputSchema = { type: 'object', properties: { a: { type: 'number' } } };
    const listed = Object.keys(results).map((name) => ({
      name,
      inputSchema: anything,
      ...(name === 'wrong' ? { outputSchema } : {}),
    }));
    await kernel.tools.connectMcp('s', listing({ pages: [listed], results }));
    expect(await failureOf(call('mcp/s/error'))).toEqual({
      code: 'TOOL_FAILED',
      facts: { tool: 'mcp/s/error', reason: 'tool_error', text: 'no space left' },
      retryable: false,
    });
    expect(await failureOf(call('mcp/s/wrong'))).toMatchObject({ code: 'TOOL_FAILED', facts: { tool: 'mcp/s/wrong' } });
    expect(await failureOf(call('mcp/s/large'))).toMatchObject({
      code: 'TOOL_FAILED',
      facts: { tool: 'mcp/s/large', reason: 'bad_result', bytesMax: 1024 * 1024 },
    });
    expect(await call('mcp/s/nothing')).toEqual({ content: [] });
  });
});

function listing(says: { pages: object[][]; results?: object }): McpProgram {
  const file = join(tempFolder(), 'says.json');
  writeFileSync(file, JSON.stringify(says));
  return testProgram('listing.mjs', file);
}
