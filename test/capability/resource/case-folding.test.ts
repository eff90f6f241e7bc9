import { mkdirSync, readdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ContainerModule } from 'inversify';
import { describe, expect, it } from 'vitest';
import { defineImage, FilePlaces, type Pid } from '../../../src/index.js';
import { WorkspacePlaces } from '../../../src/kernel/workspace/workspace-places.js';
import { decisionCodes, sameCodeFor } from '../../support/capability/decision-codes.js';
import { tempFolder } from '../../support/kernel.js';
import { type KernelFixture, kernelFixture, worker } from '../../support/kernel-fixture.js';

/** The disk as a volume shows it on which upper and lower case are one. */
function folding(workspace: string): FilePlaces {
  const disk = new WorkspacePlaces(workspace);
  return { workspace, foldsCase: true, real: (segments) => disk.real(onDisk(workspace, segments)) };
}

/** The names as they are on the disk, in whatever case they were asked for; what is not there stays as it is. */
function onDisk(workspace: string, segments: readonly string[]): string[] {
  const found: string[] = [];
  for (const segment of segments) {
    const names = namesIn(join(workspace, ...found));
    found.push(names.find((name) => name.toLowerCase() === segment.toLowerCase()) ?? segment);
  }
  return found;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // It is not there yet.
    return [];
  }
}

const reader = defineImage({
  name: 'reader',
  run: async () => null,
  requires: [{ resource: 'fs:SECRET/x', rights: ['read'] }],
});

/** A workspace with a folder `Secret`, and a link to it, on such a volume. */
async function folded(): Promise<KernelFixture> {
  const workspace = realpathSync(tempFolder());
  for (const folder of ['Secret', 'pub']) mkdirSync(join(workspace, folder));
  writeFileSync(join(workspace, 'Secret', 'x'), '');
  symlinkSync('../Secret', join(workspace, 'pub', 'Link'));
  const module = new ContainerModule(({ bind }) => {
    bind(FilePlaces).toConstantValue(folding(workspace));
  });
  return kernelFixture({ workspace, modules: [module], images: [worker, reader] });
}

const read = (resource: string) => ({ resource, rights: ['read'] }) as const;
const lent = (resource: string) => ({ ...read(resource), delegable: true }) as const;
const spellings = ['fs:secret/x', 'fs:SECRET/x', 'fs:Secret/X', 'fs:./sEcReT//x', 'fs:pub/../SECRET/new/Y'];
const behindLink = ['fs:pub/link/x', 'fs:PUB/LINK/x', 'fs:Pub/Link/new'];

async function holder({ kernel }: KernelFixture, ...resources: string[]): Promise<Pid> {
  return kernel.processes.spawn({ image: 'worker', capabilities: resources.map(lent) });
}

describe('where upper and lower case name the same file', () => {
  it.each(['fs:secret/**', 'fs:SECRET/**', 'fs:Secret/**'])('%s allows every case of it', async (pattern) => {
    const set = await folded();
    const pid = await holder(set, pattern);
    expect(await decisionCodes(set.kernel, pid, 'read', spellings)).toEqual(sameCodeFor('ALLOWED', spellings));
    const others = ['fs:secrets/x', 'fs:sec/ret', ...behindLink];
    expect(await decisionCodes(set.kernel, pid, 'read', others)).toEqual(sameCodeFor('NO_CAPABILITY', others));
  });

  it.each(['fs:secret/**', 'fs:SECRET/**', 'fs:Secret/**'])('%s is forbidden in every case of it', async (pattern) => {
    const set = await folded();
    const pid = await holder(set, 'fs:**');
    const before = [...spellings, ...behindLink];
    expect(await decisionCodes(set.kernel, pid, 'read', before)).toEqual(sameCodeFor('ALLOWED', before));
    const { id } = await set.kernel.capabilities.deny(pid, read(pattern));
    expect(await decisionCodes(set.kernel, pid, 'read', before)).toEqual(sameCodeFor('DENY_RULE', before));
    await set.kernel.capabilities.lift(id);
    expect(await decisionCodes(set.kernel, pid, 'read', before)).toEqual(sameCodeFor('ALLOWED', before));
  });

  it('letters with several forms are one, and a dotless i is none of those of i', async () => {
    const set = await folded();
    const pid = await holder(set, 'fs:\u03a3\u03af\u03c3\u03c5\u03c6\u03bf\u03c2/**', 'fs:mail/**');
    const greek = [
      'fs:\u03c3\u03af\u03c3\u03c5\u03c6\u03bf\u03c3/x',
      'fs:\u03a3\u038a\u03a3\u03a5\u03a6\u039f\u03a3/x',
    ];
    const others = ['fs:ma\u0131l/x', 'fs:MA\u0130L/x'];
    expect(await decisionCodes(set.kernel, pid, 'read', [...greek, 'fs:MAIL/x', ...others])).toEqual({
      ...sameCodeFor('ALLOWED', [...greek, 'fs:MAIL/x']),
      ...sameCodeFor('NO_CAPABILITY', others),
    });
  });

  it('a capability that is revoked or given away is gone in every case of its name', async () => {
    const set = await folded();
    const { kernel } = set;
    const [giver, taker] = [await holder(set, 'fs:Secret/**', 'fs:PUB/*'), await holder(set)];
    const held = await kernel.capabilities.list(giver);
    const id = (resource: string) => held.find((one) => one.resource === resource)?.id ?? '';
    expect(await decisionCodes(kernel, giver, 'read', spellings)).toEqual(sameCodeFor('ALLOWED', spellings));
    await kernel.capabilities.transfer(giver, taker, id('fs:Secret/**'));
    expect(await decisionCodes(kernel, giver, 'read', spellings)).toEqual(sameCodeFor('NO_CAPABILITY', spellings));
    expect(await decisionCodes(kernel, taker, 'read', spellings)).toEqual(sameCodeFor('ALLOWED', spellings));
    await kernel.capabilities.revoke(id('fs:PUB/*'));
    expect(await decisionCodes(kernel, giver, 'read', ['fs:pub/y', 'fs:Pub/Y'])).toEqual({
      'fs:pub/y': 'REVOKED',
      'fs:Pub/Y': 'REVOKED',
    });
  });

  it('nothing of what a rule is about leaves it in another case', async () => {
    const set = await folded();
    const { kernel, refused } = set;
    const [giver, taker] = [await holder(set, 'fs:**', 'fs:Secret/**'), await holder(set)];
    const child = await kernel.processes.spawnChild(giver, {});
    const rule = await kernel.capabilities.deny(giver, read('fs:secret/**'));
    for (const resource of ['fs:Secret/**', 'fs:SECRET/x', 'fs:*/x', 'fs:**']) {
      expect(await refused(() => kernel.capabilities.delegate(giver, taker, read(resource)))).toEqual({
        code: 'CAPABILITY_DENIED',
        facts: { pid: giver, right: 'grant', resource, code: 'DENY_RULE', denies: [rule.id] },
      });
    }
    const held = (await kernel.capabilities.list(giver)).find(({ resource }) => resource === 'fs:Secret/**');
    expect((await refused(() => kernel.capabilities.transfer(giver, taker, held?.id ?? ''))).code).toBe(
      'CAPABILITY_DENIED',
    );
    expect((await kernel.capabilities.delegate(giver, taker, read('fs:Pub/**'))).resource).toBe('fs:Pub/**');
    await kernel.capabilities.delegate(giver, child, read('fs:SECRET/**'));
    expect(await decisionCodes(kernel, child, 'read', spellings)).toEqual(sameCodeFor('DENY_RULE', spellings));
  });

  it('a part of what is held is handed on in another case, and nothing beside it', async () => {
    // Which names are one was looked at when a capability was searched for, and not when it was compared.
    const set = await folded();
    const { kernel, refused } = set;
    const [giver, taker] = [await holder(set, 'fs:secret/**'), await holder(set)];
    const given = await kernel.capabilities.delegate(giver, taker, read('fs:SECRET/Deep/**'));
    expect(given).toMatchObject({ resource: 'fs:SECRET/Deep/**', holder: taker, depth: 1 });
    expect(await decisionCodes(kernel, taker, 'read', ['fs:Secret/deep/x', 'fs:secret/x'])).toEqual({
      'fs:Secret/deep/x': 'ALLOWED',
      'fs:secret/x': 'NO_CAPABILITY',
    });
    expect((await kernel.capabilities.derive(giver, read('fs:Secret/x'))).depth).toBe(1);
    const child = await kernel.processes.spawnChild(giver, { image: 'reader', delegate: [read('fs:sEcReT/x')] });
    expect(await decisionCodes(kernel, child, 'read', ['fs:secret/X'])).toEqual({ 'fs:secret/X': 'ALLOWED' });
    for (const resource of ['fs:SECRETS/x', 'fs:PUB/x', 'fs:*/x', 'fs:**']) {
      const answer = await refused(() => kernel.capabilities.delegate(giver, taker, read(resource)));
      expect(answer).toMatchObject({ code: 'AMPLIFICATION', facts: { field: 'resource', resource } });
    }
  });

  it('what a rule forbids in another case is not asked for', async () => {
    const set = await folded();
    const { kernel, refused } = set;
    const pid = await holder(set);
    await kernel.capabilities.deny(pid, read('fs:Secret/**'));
    for (const resource of ['fs:Secret/x', 'fs:secret/**', 'fs:SECRET/X']) {
      expect(await refused(() => kernel.as(pid).capabilities.request(read(resource)))).toEqual({
        code: 'CAPABILITY_DENIED',
        facts: { pid, right: 'read', resource, code: 'DENY_RULE' },
      });
    }
  });

  it('whoCan and chdir know it too', async () => {
    const set = await folded();
    const { kernel, refused } = set;
    const [wide, narrow] = [await holder(set, 'fs:**'), await holder(set, 'fs:SECRET/**')];
    const who = async () => {
      const found = await Promise.all(spellings.map((name) => kernel.capabilities.whoCan('read', name)));
      return found.map((pids) => pids.length);
    };
    expect(await who()).toEqual(spellings.map(() => 2));
    expect(await kernel.capabilities.whoCan('read', 'fs:pub/LINK/x')).toEqual([wide]);
    expect(await kernel.as(narrow).chdir('Secret')).toBe('Secret');
    await kernel.capabilities.deny('*', read('fs:secret/**'));
    expect(await who()).toEqual(spellings.map(() => 0));
    for (const folder of ['Secret', 'SECRET', './secret/', 'pub/Link', 'pub/../SeCrEt']) {
      const { code } = await refused(() => kernel.as(wide).chdir(folder));
      expect([folder, code]).toEqual([folder, 'CAPABILITY_DENIED']);
    }
  });
});
