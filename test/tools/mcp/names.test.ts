import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toToolResult } from '../../../src/tools/mcp/mcp-result.js';
import { mcpToolName } from '../../../src/tools/mcp/mcp-tool.js';
import { MessageLines } from '../../../src/tools/mcp/pipe-transport.js';
import { parseTool } from '../../../src/tools/tool-definition.js';

const server = fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/);

describe('the name of a tool of a server', () => {
  it('is one that a tool can have, below the name of its server, whatever the server calls it', () => {
    fc.assert(
      fc.property(server, fc.oneof(fc.string({ unit: 'binary', maxLength: 300 }), fc.string()), (by, given) => {
        const name = mcpToolName(by, given);
        parseTool({ name, description: 'A tool.', input: { type: 'object' }, effect: 'once', run: () => null });
        expect(name.startsWith(`mcp/${by}/`)).toBe(true);
        expect(mcpToolName(by, given)).toBe(name);
      }),
    );
  });

  it('is the name that the server gives where that can be had', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Za-z0-9_-]{1,50}$/), (given) => {
        expect(mcpToolName('s', given)).toBe(`mcp/s/${given}`);
      }),
    );
  });
});

describe('a text that is too long for a result', () => {
  it('is cut between two characters, and what is left is its beginning and fits', () => {
    const limits = { bytesMax: 1_024, depthMax: 64 };
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 400, maxLength: 2_000 }), (text) => {
        const result = toToolResult('t', { content: [{ type: 'text', text }] }, false, limits) as { text: string };
        expect(Buffer.byteLength(JSON.stringify(result))).toBeLessThanOrEqual(limits.bytesMax);
        expect(result.text.isWellFormed()).toBe(true);
        expect(text.startsWith(result.text)).toBe(true);
      }),
    );
  });
});

describe('the lines of a program', () => {
  it('are the same however they arrive', () => {
    const text = fc.array(fc.string({ unit: 'grapheme' }).map((line) => line.replaceAll('\n', '')));
    fc.assert(
      fc.property(text, fc.array(fc.nat(40)), (given, sizes) => {
        const bytes = Buffer.from(given.map((line) => `${line}\n`).join(''));
        const lines = new MessageLines(10_000);
        const seen: string[] = [];
        let start = 0;
        for (const size of [...sizes, bytes.length]) {
          seen.push(...lines.add(bytes.subarray(start, start + size)));
          start += size;
        }
        expect(seen).toEqual(given);
      }),
    );
  });

  it('may be as long as was said, and no longer', () => {
    expect([...new MessageLines(3).add(Buffer.from('abc\nd'))]).toEqual(['abc']);
    expect(() => [...new MessageLines(3).add(Buffer.from('abcd'))]).toThrow(RangeError);
  });
});
