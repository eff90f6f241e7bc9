import { describe, expect, it } from 'vitest';
import { canonicalHost } from '../../../src/capability/resource/net-host.js';
import { parsePattern, parseRequest } from '../../../src/capability/resource/resource.js';
import { codeOf } from '../../support/capability/thrown-code.js';

describe('net resources', () => {
  it.each([
    ['net:api.example.com/443', 'net:api.example.com/443'],
    ['net:API.Example.COM/443', 'net:api.example.com/443'],
    ['net:example.com./443', 'net:example.com/443'],
    ['net:127.0.0.1./80', 'net:127.0.0.1/80'],
    ['net:0x7f.1/80', 'net:127.0.0.1/80'],
    ['net:2130706433/80', 'net:127.0.0.1/80'],
    ['net:[::1]/80', 'net:[::1]/80'],
    ['net:[0:0:0:0:0:0:0:1]/80', 'net:[::1]/80'],
    ['net:[::ffff:127.0.0.1]/80', 'net:127.0.0.1/80'],
    ['net:[::FFFF:7F00:1]/80', 'net:127.0.0.1/80'],
    ['net:b\u00fccher.de/443', 'net:xn--bcher-kva.de/443'],
    ['net:localhost/65535', 'net:localhost/65535'],
  ])('%s is read as %s, as request and as pattern', (text, canonical) => {
    expect([parseRequest(text).text, parsePattern(text).text]).toEqual([canonical, canonical]);
  });

  it.each([
    ['net:**', 'net:**'],
    ['net:*/*', 'net:**'],
    ['net:*/443', 'net:*/443'],
    ['net:example.com/*', 'net:example.com/*'],
    ['net:example.com/**', 'net:example.com/*'],
    ['net:*.Example.com./443', 'net:*.example.com/443'],
  ])('the pattern %s is read as %s', (text, canonical) => {
    expect(parsePattern(text).text).toBe(canonical);
  });

  it.each([
    'net:example.com',
    'net:*',
    'net:example.com/',
    'net:example.com/0',
    'net:example.com/65536',
    'net:example.com/0443',
    'net:example.com/https',
    'net:example.com/443/x',
    'net:/443',
    'net:user@example.com/443',
    'net:user:pass@example.com/443',
    'net:example.com:443/443',
    'net:https://example.com/443',
    'net:::1/443',
    'net:[::1/443',
    'net:[::1]x/443',
    'net:[::1]./443',
    'net:[::g]/443',
    'net:a..b/443',
    'net:./443',
    'net:256.1.1.1/443',
    'net:a%2eb/443',
    'net:a b/443',
    'net:\uff45xample.com/443',
    'net:a.*.com/443',
    'net:a*.com/443',
    'net:*.*.com/443',
    'net:*./443',
    'net:*.1.2.3.4/443',
    'net:*.[::1]/443',
  ])('%s is refused', (text) => {
    expect([codeOf(() => parsePattern(text)), codeOf(() => parseRequest(text))]).toEqual([
      'INVALID_INPUT',
      'INVALID_INPUT',
    ]);
  });

  it('a canonical host is its own canonical host', () => {
    const hosts = ['Example.COM.', '0x7f.1', '[::ffff:1.2.3.4]', '[1:0:0:0::]', 'b\u00fccher.de', 'a\u3002b'];
    const canonical = hosts.map(canonicalHost);
    expect(canonical).not.toContain(undefined);
    expect(canonical.map((host) => canonicalHost(host ?? ''))).toEqual(canonical);
  });
});
