import { realpathSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Atom } from '../../../src/index.js';
import { decisionCode, sameCodeFor } from '../../support/capability/decision-codes.js';
import { tempFolder } from '../../support/kernel.js';
import { kernelFixture } from '../../support/kernel-fixture.js';

/** The decision code for each text as the argument `at` of a tool that `atom` constrains. */
async function judged(atom: Atom, texts: readonly string[], workspace = tempFolder()): Promise<Record<string, string>> {
  const { kernel } = await kernelFixture({ workspace });
  const pid = await kernel.processes.spawn({
    capabilities: [{ resource: 'tool:open', rights: ['call'], constraints: { at: atom } }],
  });
  const found: Record<string, string> = {};
  for (const at of texts) found[at] = await decisionCode(kernel, pid, 'call', 'tool:open', { at });
  return found;
}

describe('a path as an argument', () => {
  it('is taken in its one spelling, relative to the workspace or absolute inside it', async () => {
    const workspace = realpathSync(tempFolder());
    const good = ['src', 'src/a.ts', 'src/caf\u00e9', 'src/%2e%2e/a.ts', `${workspace}/src`, `${workspace}/src/a.ts`];
    const bad = [
      './src/a.ts',
      'src//a.ts',
      'src/./a.ts',
      'src/a.ts/',
      'src/.',
      'pub/../src/a.ts',
      'src/../src/a.ts',
      'src/../secret/key',
      'src/cafe\u0301',
      'src\\a.ts',
      'C:/src/a.ts',
      'src/a.ts\0',
      'src/\u202ea.ts',
      'fs:src/a.ts',
      ' src/a.ts',
      '~/src/a.ts',
      'Src/a.ts',
      'src2/a.ts',
      '%73rc/a.ts',
      'secret/key',
      'src/*',
      '',
      '.',
      '..',
      `../${basename(workspace)}/src/a.ts`,
      '/src/a.ts',
      '/etc/passwd',
      workspace,
      `${workspace}/`,
      `${workspace}/src/`,
      `${workspace}//src/a.ts`,
      `/${workspace}/src/a.ts`,
      `${workspace}/./src/a.ts`,
      `${workspace}/pub/../src/a.ts`,
      `${workspace}/../${basename(workspace)}/src/a.ts`,
      `${workspace}/src/../../${basename(workspace)}/src/a.ts`,
      `${workspace}/secret/key`,
      `${workspace}2/src/a.ts`,
      `${workspace}\\src\\a.ts`,
      `file://${workspace}/src/a.ts`,
    ];
    expect(await judged({ path: 'src/**' }, [...good, ...bad], workspace)).toEqual({
      ...sameCodeFor('ALLOWED', good),
      ...sameCodeFor('CONSTRAINT', bad),
    });
  });

  it('that is the workspace is a dot, or its absolute path without a slash', async () => {
    const workspace = realpathSync(tempFolder());
    const [good, bad] = [
      ['.', workspace],
      ['', './', 'src/..', `${workspace}/`, `${workspace}/.`, `${workspace}/src/..`, '/', '..'],
    ];
    expect(await judged({ path: '**' }, [...good, ...bad], workspace)).toEqual({
      ...sameCodeFor('ALLOWED', good),
      ...sameCodeFor('CONSTRAINT', bad),
    });
  });

  it('that is spelled otherwise is answered with the right spelling', async () => {
    const { kernel } = await kernelFixture();
    const constraints = { at: { path: 'src/**' } };
    const pid = await kernel.processes.spawn({
      capabilities: [{ resource: 'tool:open', rights: ['call'], constraints }],
    });
    const asked = ['call', 'tool:open', { at: './src//a.ts' }] as const;
    const failed = 'at: is not spelled canonically. Write it as "src/a.ts"';
    const { code, nearest, hint } = await kernel.capabilities.explain(pid, ...asked);
    expect([code, nearest[0]?.failed]).toEqual(['CONSTRAINT', failed]);
    expect(hint).toContain(`(${failed})`);
    expect((await kernel.as(pid).capabilities.check(...asked)).reason).toContain(`(${failed})`);
  });

  it('is constrained alike by all spellings of the pattern', async () => {
    for (const path of ['src/**', './src/**', 'src//**', './/src/./**']) {
      expect([path, await judged({ path }, ['src/a.ts', 'secret/key'])]).toEqual([
        path,
        { 'src/a.ts': 'ALLOWED', 'secret/key': 'CONSTRAINT' },
      ]);
    }
  });
});

describe('a host as an argument', () => {
  it.each<[host: string, good: string[], bad: string[]]>([
    [
      '*.Example.com.',
      ['api.example.com', 'a.b.example.com'],
      [
        'API.example.com',
        'api.example.com.',
        'api\u3002example.com',
        'user@api.example.com',
        'api.example.com:443',
        'api.example.com/443',
        'https://api.example.com',
        'api.example.com\0',
        'api%2eexample.com',
        '\uff41pi.example.com',
        ' api.example.com',
        'example.com',
        'aexample.com',
        'api.example.com.evil.de',
        '*.example.com',
        '',
      ],
    ],
    [
      '0x7f.1',
      ['127.0.0.1'],
      ['127.0.0.1.', '127.1', '0x7f.1', '0177.0.0.1', '2130706433', '::ffff:127.0.0.1', '[::ffff:7f00:1]', '127.0.0.2'],
    ],
    [
      '[2001:DB8:0::1]',
      ['2001:db8::1', '[2001:db8::1]'],
      ['2001:DB8::1', '2001:db8:0::1', '[2001:0db8::1]', '2001:db8::0.0.0.1', '[2001:db8::1]:80', '2001:db8::1%eth0'],
    ],
    ['b\u00fccher.de', ['xn--bcher-kva.de'], ['b\u00fccher.de', 'bu\u0308cher.de', 'XN--bcher-kva.de', 'bucher.de']],
  ])('is taken in its one spelling: %s', async (host, good, bad) => {
    expect(await judged({ host }, [...good, ...bad])).toEqual({
      ...sameCodeFor('ALLOWED', good),
      ...sameCodeFor('CONSTRAINT', bad),
    });
  });
});

describe('an address as an argument', () => {
  it.each<[cidr: string, good: string[], bad: string[]]>([
    [
      '10.0.0.0/8',
      ['10.0.0.0', '10.1.2.3', '10.255.255.255'],
      [
        '10.1.2.3.',
        '10.66051',
        '0xa.1.2.3',
        '012.1.2.3',
        '167838211',
        '::ffff:10.1.2.3',
        '[::ffff:a01:203]',
        '10.1.2.3/8',
        '10.1.2.3:80',
        'user@10.1.2.3',
        '11.0.0.0',
        '9.255.255.255',
        'ten.example.com',
        '',
      ],
    ],
    [
      '2001:db8::/32',
      ['2001:db8::1', '[2001:db8:ffff::1]'],
      ['2001:DB8::1', '2001:0db8::1', '2001:db9::1', '10.0.0.1'],
    ],
    // An IPv4 address is none of IPv6, in whatever clothes.
    ['::/0', ['::1', '2001:db8::1'], ['10.1.2.3', '::ffff:10.1.2.3', '[::ffff:a01:203]', '0:0:0:0:0:ffff:a01:203']],
  ])('is taken in its one spelling: %s', async (cidr, good, bad) => {
    expect(await judged({ cidr }, [...good, ...bad])).toEqual({
      ...sameCodeFor('ALLOWED', good),
      ...sameCodeFor('CONSTRAINT', bad),
    });
  });

  it('is constrained by a block in its one spelling only', async () => {
    const { kernel, refused } = await kernelFixture();
    const pid = await kernel.processes.spawn({});
    for (const cidr of [
      '10.1.0.0/8',
      '10/8',
      '0xa.0.0.0/8',
      '10.0.0.0/08',
      '::ffff:10.0.0.0/104',
      '2001:DB8::/32',
      '10.0.0.0',
    ]) {
      const spec = { resource: 'tool:open', rights: ['call'], constraints: { at: { cidr } } } as const;
      expect([cidr, (await refused(() => kernel.capabilities.grant(pid, spec))).code]).toEqual([cidr, 'INVALID_INPUT']);
    }
  });
});
