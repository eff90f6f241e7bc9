import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parsePattern, parseRequest, resourceKinds } from '../../../src/capability/resource/resource.js';
import { codeOf, errorOf } from '../../support/capability/thrown-code.js';

describe('patterns', () => {
  it.each([
    ['tool:search', 'tool:search'],
    ['tool:*', 'tool:*'],
    ['tool:mcp/github/**', 'tool:mcp/github/**'],
    ['tool:mcp/*/list', 'tool:mcp/*/list'],
    ['tool:**', 'tool:**'],
    ['tool:*/**', 'tool:**'],
    ['fs:**', 'fs:**'],
    ['fs:*/**', 'fs:*/**'],
    ['fs:.', 'fs:.'],
    ['fs:./', 'fs:.'],
    ['fs:./**', 'fs:**'],
    ['fs:src//a/./b/', 'fs:src/a/b'],
    ['fs:%2e%2e/x', 'fs:%2e%2e/x'],
    ['fs:cafe\u0301', 'fs:caf\u00e9'],
    ['fs:\uff41', 'fs:\uff41'],
    ['ns:team/notes/**', 'ns:team/notes/**'],
    ['ns:process', 'ns:process'],
    ['ns:process/p_1', 'ns:process/p_1'],
    ['ns:process/p_1/**', 'ns:process/p_1/**'],
    ['model:openai/gpt:4', 'model:openai/gpt:4'],
    ['image:summarizer@1', 'image:summarizer@1'],
    ['tool:caf\u0065\u0301', 'tool:caf\u00e9'],
  ])('%s is read as %s', (text, canonical) => {
    expect(parsePattern(text).text).toBe(canonical);
  });

  it.each([
    ['', 'no kind'],
    ['tool', 'no kind'],
    ['tool:', 'nothing named'],
    ['fs:', 'nothing named'],
    ['*:*', 'a wildcard as kind'],
    ['Tool:x', 'a kind in upper case'],
    ['web:x', 'an unknown kind'],
    ['tool:foo*', 'a partial wildcard'],
    ['tool:*foo', 'a partial wildcard'],
    ['tool:***', 'three stars'],
    ['tool:**/x', 'a double star that is not last'],
    ['fs:src/**/x', 'a double star that is not last'],
    ['tool:**/**', 'two double stars'],
    ['tool:a?', 'a question mark'],
    ['tool:[ab]', 'brackets'],
    ['fs:{a,b}', 'braces'],
    ['tool:a//b', 'an empty segment'],
    ['tool:/a', 'an empty segment'],
    ['tool:a/', 'an empty segment'],
    ['ns:a/../b', 'a parent segment'],
    ['ns:./a', 'a dot segment'],
    ['fs:/etc', 'an absolute path'],
    ['fs:a\\b', 'a backslash'],
    ['fs:C:/x', 'a drive letter'],
    ['fs:./c:x', 'a drive letter behind a dot'],
    ['fs:../x', 'a parent segment'],
    ['fs:a/../b', 'a parent segment, even one that stays inside'],
    ['ns:process/*', 'processes that are not spelled'],
    ['ns:process/**', 'processes that are not spelled'],
    ['ns:process/*/x', 'processes that are not spelled'],
    ['tool:a\u0000b', 'NUL'],
    ['tool:a\nb', 'a C0 control'],
    ['tool:a\u007fb', 'DEL'],
    ['tool:a\u0085b', 'a C1 control'],
    ['tool:a\u202eb', 'a bidi override'],
    ['fs:a\u2066b', 'a bidi isolate'],
    ['tool:\ud800', 'a lone surrogate'],
    ['tool:\uff41', 'a full-width letter'],
    ['tool:\ufb01x', 'a ligature'],
    [`tool:${'a'.repeat(4092)}`, 'over 4 KiB'],
    [`tool:${'\u00e9'.repeat(2046)}`, 'over 4 KiB in UTF-8'],
    [`tool:${'\u0958'.repeat(1000)}`, 'over 4 KiB in NFC'],
  ])('%j is refused: %s', (text) => {
    const error = errorOf(() => parsePattern(text));
    expect([error.code, error.hint === '']).toEqual(['INVALID_INPUT', false]);
  });

  it('of exactly 4 KiB are read', () => {
    expect(parsePattern(`tool:${'a'.repeat(4091)}`).text).toHaveLength(4096);
  });

  it('know every kind', () => {
    expect(resourceKinds.map((kind) => parsePattern(`${kind}:**`).text)).toEqual(
      resourceKinds.map((kind) => `${kind}:**`),
    );
  });

  it('that are not text are refused', () => {
    expect(codeOf(() => parsePattern(JSON.parse('{}')))).toBe('INVALID_INPUT');
  });
});

describe('requests', () => {
  it.each([
    ['tool:search', 'tool:search'],
    ['fs:.', 'fs:.'],
    ['fs:a/..', 'fs:.'],
    ['fs:a/../b', 'fs:b'],
    ['fs:a//b/./c/', 'fs:a/b/c'],
    ['fs:app/[id]/{x}?.ts', 'fs:app/[id]/{x}?.ts'],
    ['fs:%2e%2e/x', 'fs:%2e%2e/x'],
    ['fs:...', 'fs:...'],
    ['ns:process/p_1', 'ns:process/p_1'],
  ])('%s is read as %s', (text, canonical) => {
    expect(parseRequest(text).text).toBe(canonical);
  });

  it.each([...resourceKinds])('for %s may not contain a star', (kind) => {
    const codes = ['*', '**', 'a/*', 'a*b', 'a*b/443'].map((body) => codeOf(() => parseRequest(`${kind}:${body}`)));
    expect(codes).toEqual(new Array(5).fill('INVALID_INPUT'));
  });

  it.each([
    'fs:..',
    'fs:a/../..',
    'fs:a/../../workspace/b',
    'fs:/etc/passwd',
    'fs:a/../C:/x',
    'fs:C:/../x',
    'fs:a\\..\\b',
    'tool:a/../b',
    'tool:',
    'tool:a\u0000',
  ])('%j is refused', (text) => {
    expect(codeOf(() => parseRequest(text))).toBe('INVALID_INPUT');
  });
});

describe('any text', () => {
  const texts = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc
      .tuple(fc.constantFrom(...resourceKinds), fc.string({ unit: fc.constantFrom(...'aB/*.:[]\\@1%~\u0301\uff0e é') }))
      .map(([kind, body]) => `${kind}:${body}`),
  );

  it('is refused with INVALID_INPUT or read into a text that reads as the same thing', () => {
    fc.assert(
      fc.property(texts, fc.constantFrom(parsePattern, parseRequest), (text, parse) => {
        const first = attempt(() => parse(text));
        if (first === undefined) return;
        expect(parse(first.text)).toEqual(first);
      }),
      { numRuns: 3000 },
    );
  });

  it('that is a request is also a pattern that matches only it, unless it has glob characters', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const request = attempt(() => parseRequest(text));
        if (request === undefined || /[?[\]{}]/.test(request.text)) return;
        expect(parsePattern(request.text).segments).toEqual(request.segments);
      }),
      { numRuns: 2000 },
    );
  });

  function attempt<T>(call: () => T): T | undefined {
    let result: T | undefined;
    try {
      result = call();
    } catch (error) {
      expect(error).toMatchObject({ code: 'INVALID_INPUT', name: 'InputError' });
    }
    return result;
  }
});
