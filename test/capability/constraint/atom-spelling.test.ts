import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { CapabilitySpec, Kernel, Pid, Right, RuleSpec } from '../../../src/index.js';
import { decisionCodes, sameCodeFor } from '../../support/capability/decision-codes.js';
import { refusal, tempFolder } from '../../support/kernel.js';
import { type KernelFixture, kernelFixture } from '../../support/kernel-fixture.js';

const composed = 'caf\u00e9';
const decomposed = 'cafe\u0301';

/** A workspace with a folder that is somebody's secret, under a plain name and under one with an accent. */
async function withFiles(): Promise<KernelFixture & { readonly workspace: string }> {
  const workspace = tempFolder();
  for (const folder of ['secret/deep', 'pub', composed]) mkdirSync(join(workspace, folder), { recursive: true });
  for (const file of ['secret/key', 'pub/key', `${composed}/key`]) writeFileSync(join(workspace, file), '');
  return { ...(await kernelFixture({ workspace })), workspace };
}

/** A process that holds `capability`, and one that holds it under a rule against `denied`. */
async function both(
  kernel: Kernel,
  capability: CapabilitySpec,
  denied: RuleSpec,
): Promise<{ readonly free: Pid; readonly bound: Pid }> {
  const free = await kernel.processes.spawn({ capabilities: [capability] });
  const bound = await kernel.processes.spawn({ capabilities: [capability] });
  await kernel.capabilities.deny(bound, denied);
  return { free, bound };
}

describe('a path', () => {
  const spellings = [
    'fs:secret/key',
    'fs:./secret/key',
    'fs:secret//key',
    'fs:secret/./key',
    'fs:secret/key/',
    'fs:secret/key/.',
    'fs:pub/../secret/key',
    'fs:missing/../secret/key',
    'fs:secret/deep/../key',
    'fs:secret/key/../key',
    'fs:secret/../secret/key',
    'fs:././/secret///key//',
  ];

  it('has one decision in all its spellings', async () => {
    const { kernel } = await withFiles();
    const { free, bound } = await both(
      kernel,
      { resource: 'fs:secret/**', rights: ['read'] },
      { resource: 'fs:secret/key', rights: ['read'] },
    );
    expect(await decisionCodes(kernel, free, 'read', spellings)).toEqual(sameCodeFor('ALLOWED', spellings));
    expect(await decisionCodes(kernel, bound, 'read', spellings)).toEqual(sameCodeFor('DENY_RULE', spellings));
  });

  it('is on record in its canonical form only', async () => {
    const { kernel } = await withFiles();
    const pid = await kernel.processes.spawn({ capabilities: [{ resource: 'fs:**', rights: ['read'] }] });
    for (const resource of spellings) await kernel.capabilities.require(pid, 'read', resource);
    const { items } = await kernel.audit.list({ action: 'capability.require' });
    expect(items.map(({ resource }) => resource)).toEqual(spellings.map(() => 'fs:secret/key'));
  });

  it('that is composed and one that is decomposed are one', async () => {
    const { kernel } = await withFiles();
    const names = [`fs:${composed}/key`, `fs:${decomposed}/key`, `fs:./${decomposed}//key`];
    for (const stated of [composed, decomposed]) {
      const resource = `fs:${stated}/**`;
      const { free, bound } = await both(kernel, { resource, rights: ['read'] }, { resource, rights: ['read'] });
      expect(await decisionCodes(kernel, free, 'read', names)).toEqual(sameCodeFor('ALLOWED', names));
      expect(await decisionCodes(kernel, bound, 'read', names)).toEqual(sameCodeFor('DENY_RULE', names));
    }
  });

  it('that is absolute, leaves the workspace or has what no name may have is refused, whoever asks', async () => {
    const { kernel, workspace } = await withFiles();
    const names = [
      'fs:/secret/key',
      `fs:${workspace}/secret/key`,
      'fs://secret/key',
      `fs:../${basename(workspace)}/secret/key`,
      'fs:secret/../../secret/key',
      'fs:..',
      'fs:secret\\key',
      'fs:.\\secret/key',
      'fs:C:/secret/key',
      'fs:c:secret/key',
      'fs:./C:/secret/key',
      'fs:secret/key\0',
      'fs:sec\0ret/key',
      'fs:secret/key\n',
      'fs:secret/\u0085key',
      'fs:sec\u202eret/key',
      'fs:secret/\u2066key\u2069',
      'fs:\u200fsecret/key',
      'fs:secret/\ud800',
      'fs:secret/*',
      'fs:**',
      'fs:',
      'FS:secret/key',
      ' fs:secret/key',
      `fs:secret/${'x'.repeat(4096)}`,
    ];
    const everything = { resource: 'fs:**', rights: ['read'] } as const;
    const { free, bound } = await both(kernel, everything, { resource: 'fs:secret/**', rights: ['read'] });
    expect(await decisionCodes(kernel, free, 'read', names)).toEqual(sameCodeFor('BAD_REQUEST', names));
    expect(await decisionCodes(kernel, bound, 'read', names)).toEqual(sameCodeFor('BAD_REQUEST', names));
  });

  it('that only looks like another one is another one, and is judged by itself', async () => {
    const { kernel } = await withFiles();
    const names = [
      'fs:%73ecret/key',
      'fs:secret%2fkey',
      'fs:%2e%2e/secret/key',
      'fs:pub/%2e%2e/secret/key',
      'fs:secret./key',
      'fs:secret /key',
      'fs:.../secret/key',
      'fs:Secret/key',
      'fs:\uff53ecret/key',
      'fs:~/secret/key',
      'fs:secret2/key',
    ];
    const secrets = { resource: 'fs:secret/**', rights: ['read'] } as const;
    const { free, bound } = await both(kernel, secrets, secrets);
    await kernel.capabilities.grant(bound, { resource: 'fs:**', rights: ['read'] });
    expect(await decisionCodes(kernel, free, 'read', names)).toEqual(sameCodeFor('NO_CAPABILITY', names));
    expect(await decisionCodes(kernel, bound, 'read', names)).toEqual(sameCodeFor('ALLOWED', names));
  });

  it('of the workspace itself is a dot, which only its own pattern and ** match', async () => {
    const { kernel } = await withFiles();
    const names = ['fs:.', 'fs:./', 'fs:./.', 'fs:secret/..', 'fs:secret/deep/../..'];
    for (const [resource, code] of [
      ['fs:.', 'ALLOWED'],
      ['fs:./', 'ALLOWED'],
      ['fs:**', 'ALLOWED'],
      ['fs:*', 'NO_CAPABILITY'],
      ['fs:*/**', 'NO_CAPABILITY'],
    ] as const) {
      const pid = await kernel.processes.spawn({ capabilities: [{ resource, rights: ['list'] }] });
      expect(await decisionCodes(kernel, pid, 'list', names)).toEqual(sameCodeFor(code, names));
    }
  });
});

describe('a file whose name has what a pattern may not have', () => {
  it('can be refused for always, and everything else goes on', async () => {
    // The rule was stored by the name of the file, and then nothing that the process asked could be decided.
    const { kernel } = await withFiles();
    const pid = await kernel.processes.spawn({ capabilities: [{ resource: 'fs:**', rights: ['read'] }] });
    const rule = await kernel.capabilities.ask(pid, { resource: 'fs:app/**', rights: ['read'] });
    const names = ['fs:app/[id]/page', 'fs:app/{a,b}', 'fs:app/what?'];
    for (const name of names) await refusal(kernel.capabilities.require(pid, 'read', name));
    for (const { id } of await kernel.approvals.list()) {
      await kernel.approvals.answer(id, { decision: 'deny-always', by: 'ann', scope: 'resource' });
    }
    await kernel.capabilities.lift(rule.id);
    const others = ['fs:app/i/page', 'fs:app/a', 'fs:app/wha', 'fs:pub/key'];
    expect(await decisionCodes(kernel, pid, 'read', [...names, ...others])).toEqual({
      ...sameCodeFor('DENY_RULE', names),
      ...sameCodeFor('ALLOWED', others),
    });
  });
});

describe('a pattern of paths', () => {
  const spellings = ['fs:secret/**', 'fs:./secret/**', 'fs:secret//**', 'fs:secret/./**', 'fs:.//secret/**/'];

  it('is stored in one form, whether it grants or forbids', async () => {
    const { kernel } = await withFiles();
    for (const resource of spellings) {
      const { free, bound } = await both(kernel, { resource, rights: ['read'] }, { resource, rights: ['read'] });
      const held = (await kernel.capabilities.list(free)).find((one) => one.resource.startsWith('fs:'));
      const [rule] = await kernel.capabilities.rules(bound);
      expect([resource, held?.resource, rule?.resource]).toEqual([resource, 'fs:secret/**', 'fs:secret/**']);
      expect(await decisionCodes(kernel, bound, 'read', ['fs:pub/../secret//key'])).toEqual({
        'fs:pub/../secret//key': 'DENY_RULE',
      });
    }
  });

  it('that climbs, or has what no name may have, is refused where it grants and where it forbids', async () => {
    const { kernel, refused, workspace } = await withFiles();
    const pid = await kernel.processes.spawn({});
    for (const resource of [
      'fs:pub/../secret/**',
      'fs:../x',
      'fs:/secret/**',
      `fs:${workspace}/secret/**`,
      'fs:secret\\**',
      'fs:C:/secret/**',
      'fs:secret\0/**',
      'fs:sec\u202eret/**',
      'fs:sec*/**',
      'fs:**/key',
      '*:*',
    ]) {
      const spec = { resource, rights: ['read'] } as const;
      const codes = [
        (await refused(() => kernel.capabilities.grant(pid, spec))).code,
        (await refused(() => kernel.capabilities.deny(pid, spec))).code,
        (await refused(() => kernel.capabilities.ask('*', spec))).code,
      ];
      expect([resource, codes]).toEqual([resource, ['INVALID_INPUT', 'INVALID_INPUT', 'INVALID_INPUT']]);
    }
  });
});

describe('a host', () => {
  const hosts: readonly (readonly [canonical: string, other: readonly string[]])[] = [
    [
      'net:api.example.com/443',
      [
        'net:API.Example.COM/443',
        'net:api.example.com./443',
        'net:api\u3002example.com/443',
        'net:API.example.com./443',
      ],
    ],
    ['net:xn--bcher-kva.de/443', ['net:b\u00fccher.de/443', 'net:bu\u0308cher.de/443', 'net:B\u00dcCHER.de./443']],
    [
      'net:127.0.0.1/80',
      [
        'net:127.0.0.1./80',
        'net:127.1/80',
        'net:0x7f.1/80',
        'net:0177.0.0.1/80',
        'net:2130706433/80',
        'net:0x7f000001/80',
        'net:[::ffff:127.0.0.1]/80',
        'net:[::FFFF:7f00:1]/80',
        'net:[0:0:0:0:0:ffff:7f00:0001]/80',
      ],
    ],
    ['net:[2001:db8::1]/80', ['net:[2001:DB8::1]/80', 'net:[2001:0db8:0:0:0:0:0:1]/80', 'net:[2001:db8::0.0.0.1]/80']],
  ];

  it.each(hosts)('%s has one decision in all its spellings', async (canonical, others) => {
    const { kernel } = await kernelFixture();
    const names = [canonical, ...others];
    for (const resource of names) {
      const stated = { resource, rights: ['call'] } as const;
      const { free, bound } = await both(kernel, stated, stated);
      expect(await decisionCodes(kernel, free, 'call', names)).toEqual(sameCodeFor('ALLOWED', names));
      expect(await decisionCodes(kernel, bound, 'call', names)).toEqual(sameCodeFor('DENY_RULE', names));
    }
  });

  it('below a name is forbidden with it in every spelling, and the name itself is not', async () => {
    const { kernel } = await kernelFixture();
    const { bound } = await both(
      kernel,
      { resource: 'net:**', rights: ['call'] },
      { resource: 'net:*.Example.com./**', rights: ['call'] },
    );
    const below = ['net:a.example.com/1', 'net:A.b.EXAMPLE.com./443', 'net:a\u3002example.com/443'];
    const beside = [
      'net:example.com/443',
      'net:example.com./443',
      'net:aexample.com/443',
      'net:example.com.evil.de/443',
    ];
    expect(await decisionCodes(kernel, bound, 'call', [...below, ...beside])).toEqual({
      ...sameCodeFor('DENY_RULE', below),
      ...sameCodeFor('ALLOWED', beside),
    });
  });

  it('with user information, a port twice, or what would end it in a URL is refused', async () => {
    const { kernel } = await kernelFixture();
    const names = [
      'net:user@api.example.com/443',
      'net:user:word@api.example.com/443',
      'net:evil.de@api.example.com/443',
      'net:api.example.com@evil.de/443',
      'net:api.example.com:443/443',
      'net:https://api.example.com/443',
      'net:api.example.com#/443',
      'net:api.example.com?/443',
      'net:api.example.com\\/443',
      'net:api%2eexample.com/443',
      'net:api..example.com/443',
      'net:api.example.com../443',
      'net:.api.example.com/443',
      'net:api.example.com\0/443',
      'net:api\u202e.example.com/443',
      'net:\uff41pi.example.com/443',
      'net:::1/443',
      'net:[::1%25eth0]/443',
      'net:[::1]./443',
      'net:*.example.com/443',
      'net:api.example.com/0443',
      'net:api.example.com/',
      'net:api.example.com',
    ];
    const { free, bound } = await both(
      kernel,
      { resource: 'net:**', rights: ['call'] },
      { resource: 'net:*.example.com/*', rights: ['call'] },
    );
    expect(await decisionCodes(kernel, free, 'call', names)).toEqual(sameCodeFor('BAD_REQUEST', names));
    expect(await decisionCodes(kernel, bound, 'call', names)).toEqual(sameCodeFor('BAD_REQUEST', names));
  });
});

describe('an identifier', () => {
  const kinds: readonly (readonly [kind: string, right: Right])[] = [
    ['tool', 'call'],
    ['command', 'call'],
    ['model', 'call'],
    ['secret', 'read'],
    ['image', 'spawn'],
    ['event', 'read'],
    ['ns', 'read'],
    ['object', 'read'],
  ];

  it.each(kinds)('of kind %s has one decision, composed and decomposed', async (kind, right) => {
    const { kernel } = await kernelFixture();
    const names = [`${kind}:team/${composed}`, `${kind}:team/${decomposed}`];
    for (const resource of names) {
      const { free, bound } = await both(kernel, { resource, rights: [right] }, { resource, rights: [right] });
      expect(await decisionCodes(kernel, free, right, names)).toEqual(sameCodeFor('ALLOWED', names));
      expect(await decisionCodes(kernel, bound, right, names)).toEqual(sameCodeFor('DENY_RULE', names));
    }
  });

  it.each(kinds)('of kind %s is refused in a form that only looks like it', async (kind, right) => {
    const { kernel } = await kernelFixture();
    const pid = await kernel.processes.spawn({ capabilities: [{ resource: `${kind}:**`, rights: [right] }] });
    const names = [
      `${kind}:/team/mail`,
      `${kind}:team//mail`,
      `${kind}:team/mail/`,
      `${kind}:team/./mail`,
      `${kind}:team/x/../mail`,
      `${kind}:team/mail\0`,
      `${kind}:team/ma\u202eil`,
      `${kind}:team/\uff4dail`,
      `${kind}:team/mai\u{1d4f5}`,
      `${kind}:team/*`,
      `${kind.toUpperCase()}:team/mail`,
    ];
    expect(await decisionCodes(kernel, pid, right, names)).toEqual(sameCodeFor('BAD_REQUEST', names));
  });

  it.each(kinds)('of kind %s in another case or percent-encoded is another one', async (kind, right) => {
    const { kernel } = await kernelFixture();
    const stated = { resource: `${kind}:team/mail`, rights: [right] } as const;
    const { free, bound } = await both(kernel, stated, stated);
    await kernel.capabilities.grant(bound, { resource: `${kind}:**`, rights: [right] });
    const names = [`${kind}:team/Mail`, `${kind}:team%2fmail`, `${kind}:team/%6dail`, `${kind}:team/mail.`];
    expect(await decisionCodes(kernel, free, right, names)).toEqual(sameCodeFor('NO_CAPABILITY', names));
    expect(await decisionCodes(kernel, bound, right, names)).toEqual(sameCodeFor('ALLOWED', names));
  });
});
