import { mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { CapabilitySpec, Pid, RuleSpec } from '../../../src/index.js';
import { decisionCode, decisionCodes } from '../../support/capability/decision-codes.js';
import { tempFolder } from '../../support/kernel.js';
import { type KernelFixture, kernelFixture } from '../../support/kernel-fixture.js';

const all = ['read', 'write', 'create', 'delete', 'list'] as const;

/** A workspace whose folder `data` has links of every kind to the folders beside it, and beyond. */
async function withLinks(): Promise<KernelFixture & { readonly workspace: string }> {
  const workspace = tempFolder();
  const outside = tempFolder();
  for (const folder of ['data/real', 'pub', 'secret', 'a*b']) mkdirSync(join(workspace, folder), { recursive: true });
  for (const file of ['data/real/f', 'pub/f', 'secret/f', 'a*b/f']) writeFileSync(join(workspace, file), '');
  writeFileSync(join(outside, 'f'), '');
  symlinkSync(join(workspace, 'pub'), join(outside, 'back'));
  for (const [name, target] of [
    ['own', 'real'],
    ['pub', '../pub'],
    ['secret', '../secret'],
    ['note', '../secret/f'],
    ['first', 'second'],
    ['second', '../data/third'],
    ['third', join(workspace, 'secret')],
    ['odd', '../a*b'],
    ['ws', '..'],
    ['out', outside],
    ['home', join(outside, 'back')],
    ['top', '/'],
    ['self', 'self'],
    ['ping', 'pong'],
    ['pong', 'ping'],
    ['nowhere', 'missing'],
    ['escape', join(outside, 'missing')],
    ['climb', '../../../../../../../../nowhere'],
  ] as const) {
    symlinkSync(target, join(workspace, 'data', name));
  }
  return { ...(await kernelFixture({ workspace })), workspace };
}

const denied: RuleSpec = { resource: 'fs:secret/**', rights: all };

/** A path, where it leads, and the decisions for one who holds `data`, of one who holds all, and of one who may not use `secret`. */
type Row = readonly [name: string, where: string, codes: readonly string[]];

/** The same rows with the actual decisions. */
async function judged(right: 'read' | 'create', rows: readonly Row[]): Promise<Row[]> {
  const { kernel } = await withLinks();
  const spawn = (resource: string) => kernel.processes.spawn({ capabilities: [{ resource, rights: all }] });
  const [narrow, wide, bound] = [await spawn('fs:data/**'), await spawn('fs:**'), await spawn('fs:**')];
  await kernel.capabilities.deny(bound, denied);
  const found: Row[] = [];
  for (const [name, where] of rows) {
    const codes: string[] = [];
    for (const pid of [narrow, wide, bound]) codes.push(await decisionCode(kernel, pid, right, `fs:${name}`));
    found.push([name, where, codes]);
  }
  return found;
}

const [yes, no, rule] = ['ALLOWED', 'NO_CAPABILITY', 'DENY_RULE'] as const;

describe('a file behind a link', () => {
  const there: readonly Row[] = [
    ['data/real/f', 'without a link', [yes, yes, yes]],
    ['data/own/f', 'within the folder that is held', [yes, yes, yes]],
    ['data/pub/f', 'into a folder beside it', [no, yes, yes]],
    ['data/secret/f', 'into the forbidden folder', [no, yes, rule]],
    ['data/secret', 'to the forbidden folder itself', [no, yes, rule]],
    ['data/secret/', 'to the forbidden folder, with a slash', [no, yes, rule]],
    ['data/note', 'to a forbidden file', [no, yes, rule]],
    ['data/first/f', 'at the start of a chain', [no, yes, rule]],
    ['data/third/f', 'with an absolute target', [no, yes, rule]],
    ['data/ws/secret/f', 'to the workspace, and down again', [no, yes, rule]],
    ['data/ws/data/ws/data/secret/f', 'through the workspace, twice', [no, yes, rule]],
    ['data/ws/data/real/f', 'to the workspace, and back', [yes, yes, yes]],
    ['data/ws', 'to the workspace itself', [no, yes, yes]],
    ['data/home/f', 'out of the workspace and in again', [no, yes, yes]],
    ['data/odd/f', 'to a name that no resource can have', [no, no, no]],
    ['data/out/f', 'out of the workspace', [no, no, no]],
    ['data/out', 'to a folder outside', [no, no, no]],
    ['data/top/etc/passwd', 'to the root of the disk', [no, no, no]],
    ['data/self', 'to itself', [no, no, no]],
    ['data/self/f', 'below one to itself', [no, no, no]],
    ['data/ping/f', 'in a circle', [no, no, no]],
    ['data/nowhere', 'to nothing', [no, no, no]],
    ['data/nowhere/f', 'below one to nothing', [no, no, no]],
    ['data/real/f/x', 'below a file', [yes, yes, yes]],
    [`data/real/${'x'.repeat(300)}`, 'with a name that is too long for the disk', [no, no, no]],
  ];

  it('is judged by its own name and by the place where it lies', async () => {
    expect(await judged('read', there)).toEqual(there);
  });

  const toCome: readonly Row[] = [
    ['data/new', 'without a link', [yes, yes, yes]],
    ['data/own/new/deep/f', 'within the folder that is held', [yes, yes, yes]],
    ['data/pub/new/f', 'into a folder beside it', [no, yes, yes]],
    ['data/secret/new/deep/f', 'into the forbidden folder', [no, yes, rule]],
    ['data/first/new', 'at the end of a chain', [no, yes, rule]],
    ['data/new/../secret/new', 'after a name that is taken back', [no, yes, rule]],
    ['data/out/new', 'outside the workspace', [no, no, no]],
    ['data/nowhere', 'through a link to nothing', [no, no, no]],
    ['data/escape', 'through a link to nothing outside', [no, no, no]],
    ['data/escape/new', 'below a link to nothing outside', [no, no, no]],
    ['data/climb', 'through a link that climbs beyond the root', [no, no, no]],
    ['data/self/new', 'below a link to itself', [no, no, no]],
  ];

  it('that is not there yet is judged by the place where it would be made, and not outside', async () => {
    expect(await judged('create', toCome)).toEqual(toCome);
  });

  it('is allowed by one capability that covers both places, not by one for each', async () => {
    const { kernel } = await withLinks();
    const spawn = (...capabilities: CapabilitySpec[]) => kernel.processes.spawn({ capabilities });
    const data: CapabilitySpec = { resource: 'fs:data/**', rights: ['read'] };
    const pub: CapabilitySpec = { resource: 'fs:pub/**', rights: ['read'] };
    const pid = await spawn(data, pub);
    expect(await decisionCode(kernel, pid, 'read', 'fs:data/pub/f')).toBe('NO_CAPABILITY');
    await kernel.capabilities.grant(pid, { resource: 'fs:**', rights: ['read'], uses: 9 });
    expect(await decisionCode(kernel, pid, 'read', 'fs:data/pub/f')).toBe('ALLOWED');
  });

  it('is forbidden by a rule on the link as by one on the place, and the place is not by one on the link', async () => {
    const { kernel } = await withLinks();
    const pid = await kernel.processes.spawn({ capabilities: [{ resource: 'fs:**', rights: ['read'] }] });
    await kernel.capabilities.deny(pid, { resource: 'fs:data/pub/**', rights: ['read'] });
    expect(await decisionCodes(kernel, pid, 'read', ['fs:data/pub/f', 'fs:data/ws/pub/f', 'fs:pub/f'])).toEqual({
      'fs:data/pub/f': 'DENY_RULE',
      'fs:data/ws/pub/f': 'ALLOWED',
      'fs:pub/f': 'ALLOWED',
    });
  });

  it('is judged anew when the link is turned, by those that were asked before', async () => {
    const { kernel, workspace } = await withLinks();
    const pid = await kernel.processes.spawn({ capabilities: [{ resource: 'fs:data/**', rights: ['read'] }] });
    const codes: string[] = [];
    const link = join(workspace, 'data', 'turn');
    for (const target of ['real', '../secret', 'real', tempFolder(), 'missing', 'real']) {
      rmSync(link, { force: true });
      symlinkSync(target, link);
      codes.push(await decisionCode(kernel, pid, 'read', 'fs:data/turn/f'));
    }
    expect(codes).toEqual([yes, no, yes, no, no, yes]);
  });
});

describe('whoCan', () => {
  it('names for a file behind a link those who may use both places, in every spelling', async () => {
    const { kernel, refused } = await withLinks();
    const spawn = (resource: string): Promise<Pid> =>
      kernel.processes.spawn({ capabilities: [{ resource, rights: ['read'] }] });
    const [wide, bound, data, secret] = [
      await spawn('fs:**'),
      await spawn('fs:**'),
      await spawn('fs:data/**'),
      await spawn('fs:secret/**'),
    ];
    await kernel.capabilities.deny(bound, denied);
    const who = (name: string) => kernel.capabilities.whoCan('read', `fs:${name}`);
    const sorted = (...pids: Pid[]) => pids.sort();
    for (const name of ['data/secret/f', './data//secret/f/', 'pub/../data/secret/f', 'data/first/f']) {
      expect([name, await who(name)]).toEqual([name, [wide]]);
    }
    expect(await who('secret/f')).toEqual(sorted(wide, secret));
    expect(await who('data/own/f')).toEqual(sorted(wide, bound, data));
    expect(await who('data/real/../own/new')).toEqual(sorted(wide, bound, data));
    for (const name of ['data/out/f', 'data/escape', 'data/self', 'data/odd/f']) {
      expect([name, await who(name)]).toEqual([name, []]);
    }
    for (const name of ['../x', '/etc', 'data\\f', 'data/*']) {
      expect([name, (await refused(() => who(name))).code]).toEqual([name, 'INVALID_INPUT']);
    }
  });
});

describe('a workspace that is reached through a link', () => {
  it('is the folder that the link leads to', async () => {
    const workspace = realpathSync(tempFolder());
    const link = join(tempFolder(), 'link');
    symlinkSync(workspace, link);
    for (const folder of ['data', 'secret']) mkdirSync(join(workspace, folder));
    symlinkSync(join(link, 'secret'), join(workspace, 'data', 'secret'));
    symlinkSync(join(link, 'data'), join(workspace, 'data', 'data'));
    symlinkSync(`${link}2`, join(workspace, 'data', 'beside'));
    const { kernel } = await kernelFixture({ workspace: link });
    const constraints = { file: { path: 'data/**' } };
    const pid = await kernel.processes.spawn({
      capabilities: [
        { resource: 'fs:data/**', rights: ['read'] },
        { resource: 'tool:cat', rights: ['call'], constraints },
      ],
    });
    const codes: Record<string, string> = {};
    for (const name of ['data/f', 'data/data/f', 'data/secret/f', 'data/beside/f']) {
      codes[name] = await decisionCode(kernel, pid, 'read', `fs:${name}`);
    }
    for (const file of [join(workspace, 'data/f'), join(link, 'data/f')]) {
      codes[file] = await decisionCode(kernel, pid, 'call', 'tool:cat', { file });
    }
    expect(codes).toEqual({
      'data/f': 'ALLOWED',
      'data/data/f': 'ALLOWED',
      'data/secret/f': 'NO_CAPABILITY',
      'data/beside/f': 'NO_CAPABILITY',
      [join(workspace, 'data/f')]: 'ALLOWED',
      [join(link, 'data/f')]: 'CONSTRAINT',
    });
    expect(await kernel.as(pid).chdir('data/data')).toBe('data/data');
  });
});
