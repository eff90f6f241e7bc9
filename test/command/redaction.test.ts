import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { commandLine, redactArguments } from '../../src/command/plan/redaction.js';

const shown = (...argv: string[]) => redactArguments(argv);

describe('a stored command line', () => {
  it('has no value of a flag, a variable, a header or a member that is named for a secret', () => {
    expect(shown('x', '--token', 'abc', '--verbose')).toEqual(['x', '--token', '[redacted]', '--verbose']);
    expect(shown('x', '--api-key=abc', '-password=a b c')).toEqual([
      'x',
      '--api-key=[redacted]',
      '-password=[redacted]',
    ]);
    expect(shown('env', 'DB_PASSWD=abc', 'HOME=/x')).toEqual(['env', 'DB_PASSWD=[redacted]', 'HOME=/x']);
    expect(shown('curl', '-H', 'Authorization: Bearer abc', 'X-Api-Key: abc')).toEqual([
      'curl',
      '-H',
      'Authorization:[redacted]',
      'X-Api-Key:[redacted]',
    ]);
    expect(shown('sh', '-c', 'export CREDENTIALS="a b"; x --secret abc | y "password": "abc"').at(-1)).toBe(
      'export CREDENTIALS=[redacted]; x --secret [redacted] | y "password": [redacted]',
    );
  });

  it('has no bearer token and no credentials of an address', () => {
    expect(shown('x', 'send Bearer abc.def now', 'Bearer', 'abc')).toEqual([
      'x',
      'send Bearer [redacted] now',
      'Bearer',
      '[redacted]',
    ]);
    expect(shown('git', 'clone', 'https://user:abc@host/repo?token=abc&page=2')).toEqual([
      'git',
      'clone',
      'https://[redacted]@host/repo?token=[redacted]&page=2',
    ]);
  });

  it('shows what is not secret as it is', () => {
    expect(shown('git', 'commit', '--author', 'me', '--message=done')).toEqual([
      'git',
      'commit',
      '--author',
      'me',
      '--message=done',
    ]);
    expect(commandLine(['sh', '-c', 'echo "a"', ''])).toBe('sh -c "echo \\"a\\"" ""');
  });

  it('never holds a secret that stands where secrets stand', () => {
    const secret = fc.stringMatching(/^[A-Za-z0-9+/_.-]{12,40}$/);
    const name = fc.constantFrom('token', 'API_KEY', 'client-secret', 'PASSWORD', 'dbPasswd', 'x.credential', 'AUTH');
    const places = fc.constantFrom(
      (key: string, value: string) => [`--${key}`, value],
      (key: string, value: string) => [`--${key}=${value}`],
      (key: string, value: string) => [`${key}=${value}`],
      (key: string, value: string) => ['sh', '-c', `${key}='${value}' run`],
      (key: string, value: string) => ['-d', `{"${key}": "${value}"}`],
      (_key: string, value: string) => [`send: Bearer ${value}`],
      (_key: string, value: string) => [`postgres://me:${value}@host/db`],
    );
    fc.assert(
      fc.property(secret, name, places, fc.array(fc.string()), (value, key, place, before) => {
        const line = commandLine(redactArguments(['program', ...before, ...place(key, value)]));
        expect(line).not.toContain(value);
      }),
      { numRuns: 500 },
    );
  });

  it('is bounded, well-formed and quick to make, whatever it is made of', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 600 }), { maxLength: 100 }), (argv) => {
        const all = redactArguments(argv);
        expect(all.length).toBeLessThanOrEqual(65);
        for (const each of all) expect(each.length).toBeLessThanOrEqual(256);
        const line = commandLine(all);
        expect(line.length).toBeLessThanOrEqual(2_048);
        expect(line.isWellFormed()).toBe(true);
      }),
    );
    const started = performance.now();
    for (const text of ['a', '-', 'key', 'token=', '"', 'http://', 'a@', ' ']) shown(text.repeat(100_000));
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});
