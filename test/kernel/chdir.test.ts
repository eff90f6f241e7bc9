import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkInvariants } from '../support/invariants.js';
import { tempFolder } from '../support/kernel.js';
import { type KernelFixture, kernelFixture } from '../support/kernel-fixture.js';

/** A workspace with folders, a file, and links inside, outside and nowhere. */
async function folderFixture(): Promise<KernelFixture & { readonly workspace: string }> {
  const workspace = tempFolder();
  const outside = tempFolder();
  mkdirSync(join(workspace, 'src', 'app', 'deep'), { recursive: true });
  mkdirSync(join(workspace, 'doc "x" %_'));
  mkdirSync(join(workspace, '..hidden'));
  mkdirSync(join(outside, 'secret'));
  writeFileSync(join(workspace, 'file'), 'x');
  symlinkSync(outside, join(workspace, 'out'));
  symlinkSync(join(outside, 'secret'), join(workspace, 'src', 'out'));
  symlinkSync(join(workspace, 'src'), join(workspace, 'in'));
  symlinkSync(join(workspace, 'nowhere'), join(workspace, 'dangling'));
  symlinkSync('loop', join(workspace, 'loop'));
  return { ...(await kernelFixture({ workspace })), workspace };
}

const bad: readonly string[] = [
  '../x',
  '..',
  'src/../..',
  'src/../../src',
  './../x',
  '/etc',
  '/',
  '//etc',
  'C:\\x',
  'c:/x',
  'C:',
  '\\\\server\\share',
  'src\\app',
  '~',
  '~root',
  '~/x',
  'a\0b',
  'src\0',
  'a\nb',
  'a\x1b[31m',
  'a\u202eb',
  'a\u2066b',
  'a\u200fb',
  '',
  'out',
  'out/secret',
  'src/out',
  'dangling',
  'loop',
  'file',
  'file/x',
  'missing',
  'src/missing',
  '\ud800',
  'x'.repeat(4097),
];

describe('cwd in a spec', () => {
  it('is relative to the workspace, normalised, and the root is a dot', async () => {
    const { kernel } = await folderFixture();
    const cwd = async (given?: string) => {
      const pid = await kernel.processes.spawn(given === undefined ? {} : { cwd: given });
      return (await kernel.processes.get(pid)).cwd;
    };
    expect(await cwd()).toBe('.');
    expect(await cwd('.')).toBe('.');
    expect(await cwd('./')).toBe('.');
    expect(await cwd('src/')).toBe('src');
    expect(await cwd('./src//app/./deep/..')).toBe('src/app');
    expect(await cwd('src/..')).toBe('.');
    expect(await cwd('in')).toBe('in');
    expect(await cwd('doc "x" %_')).toBe('doc "x" %_');
    expect(await cwd('..hidden')).toBe('..hidden');
  });

  it('is inherited by children and forks, unless they name their own', async () => {
    const { kernel } = await folderFixture();
    const root = await kernel.processes.spawn({ cwd: 'src/app' });
    const cwd = async (pid: string) => (await kernel.processes.get(pid)).cwd;
    expect(await cwd(await kernel.processes.spawnChild(root, {}))).toBe('src/app');
    expect(await cwd(await kernel.processes.fork(root, {}))).toBe('src/app');
    expect(await cwd(await kernel.processes.spawnChild(root, { cwd: 'src' }))).toBe('src');
  });

  it('that is bad is refused with INVALID_PATH, and nothing is left behind', async () => {
    const { kernel, refused } = await folderFixture();
    const root = await kernel.processes.spawn({});
    for (const cwd of bad) {
      for (const call of [
        () => kernel.processes.spawn({ cwd }),
        () => kernel.processes.spawnChild(root, { cwd }),
        () => kernel.processes.fork(root, { cwd }),
      ]) {
        expect([cwd, (await refused(call)).code]).toEqual([cwd, codeOf(cwd)]);
      }
    }
  });
});

describe('chdir', () => {
  it('is relative to the present directory and answers with the new one', async () => {
    const { kernel, path } = await folderFixture();
    const pid = await kernel.processes.spawn({});
    expect(await kernel.processes.chdir(pid, 'src')).toBe('src');
    expect(await kernel.processes.chdir(pid, 'app/deep')).toBe('src/app/deep');
    expect(await kernel.processes.chdir(pid, '../..')).toBe('src');
    expect(await kernel.processes.chdir(pid, '..')).toBe('.');
    expect((await kernel.processes.get(pid)).cwd).toBe('.');
    const { items } = await kernel.events.list({ types: ['process.moved'] });
    expect(items.map(({ data }) => data)).toEqual(['src', 'src/app/deep', 'src', '.'].map((cwd) => ({ cwd })));
    await checkInvariants(kernel, path);
  });

  it('refuses every bad path and stays where it is', async () => {
    const { kernel, refused } = await folderFixture();
    const pid = await kernel.processes.spawn({});
    for (const path of bad) {
      expect([path, (await refused(() => kernel.processes.chdir(pid, path))).code]).toEqual([path, codeOf(path)]);
    }
    expect((await refused(() => kernel.processes.chdir('p_none', '.'))).code).toBe('NO_SUCH_PROCESS');
  });

  it('refuses to climb out from below', async () => {
    const { kernel, refused } = await folderFixture();
    const pid = await kernel.processes.spawn({ cwd: 'src/app' });
    expect((await refused(() => kernel.processes.chdir(pid, '../../..'))).code).toBe('INVALID_PATH');
    expect((await refused(() => kernel.processes.chdir(pid, '../../../src'))).code).toBe('INVALID_PATH');
    expect(await kernel.processes.chdir(pid, '../..')).toBe('.');
  });

  it('of many at once ends in one of the places, step by step', async () => {
    const { kernel, path } = await folderFixture();
    const pid = await kernel.processes.spawn({});
    const moves = await Promise.allSettled(Array.from({ length: 6 }, () => kernel.processes.chdir(pid, '.')));
    expect(moves.map(({ status }) => status)).toEqual(Array(6).fill('fulfilled'));
    await checkInvariants(kernel, path);
  });

  it('refuses a folder that has become a link out of the workspace', async () => {
    const { kernel, refused, workspace } = await folderFixture();
    const pid = await kernel.processes.spawn({ cwd: 'src' });
    expect(await kernel.processes.chdir(pid, 'app')).toBe('src/app');
    await kernel.processes.chdir(pid, '..');
    rmSync(join(workspace, 'src', 'app'), { recursive: true });
    symlinkSync(tempFolder(), join(workspace, 'src', 'app'));
    expect((await refused(() => kernel.processes.chdir(pid, 'app'))).code).toBe('INVALID_PATH');
  });
});

describe('chdir on the process face', () => {
  it('needs read on the folder', async () => {
    const { kernel } = await folderFixture();
    const pid = await kernel.processes.spawn({ capabilities: [{ resource: 'fs:src/**', rights: ['read'] }] });
    expect(await kernel.as(pid).chdir('src/app')).toBe('src/app');
    expect(await kernel.as(pid).chdir('..')).toBe('src');
  });

  it('goes by one name, composed or decomposed', async () => {
    // A folder that is granted, and beside it a link whose name differs only in how the accent is written: the right was
    // asked for by the composed name, and the process then worked behind the other one.
    const { kernel, workspace } = await folderFixture();
    const [composed, decomposed] = ['caf\u00e9', 'cafe\u0301'];
    mkdirSync(join(workspace, composed));
    symlinkSync('src', join(workspace, decomposed));
    const pid = await kernel.processes.spawn({ capabilities: [{ resource: `fs:${composed}/**`, rights: ['read'] }] });
    expect(await kernel.as(pid).chdir(decomposed)).toBe(composed);
    expect(await kernel.as(pid).chdir(`../${decomposed}`)).toBe(composed);
    const child = await kernel.as(pid).spawnChild({ cwd: `./${decomposed}/` });
    expect((await kernel.processes.get(child)).cwd).toBe(composed);
    expect(await kernel.processes.chdir(child, `../${decomposed}`)).toBe(composed);
  });

  it('is denied elsewhere, whether or not the folder exists, and the denial is on record', async () => {
    const { kernel, refused } = await folderFixture();
    const pid = await kernel.processes.spawn({ capabilities: [{ resource: 'fs:src/**', rights: ['read'] }] });
    expect((await refused(() => kernel.as(pid).chdir('.'))).code).toBe('CAPABILITY_DENIED');
    expect((await refused(() => kernel.as(pid).chdir('doc'))).code).toBe('CAPABILITY_DENIED');
    expect((await refused(() => kernel.as(pid).chdir('src2'))).code).toBe('CAPABILITY_DENIED');
    expect((await refused(() => kernel.as(pid).chdir('../x'))).code).toBe('INVALID_PATH');
    expect((await refused(() => kernel.as(pid).chdir('src/out'))).code).toBe('INVALID_PATH');
    const { items } = await kernel.audit.list({ actor: pid, outcome: 'refused' });
    expect(items.map(({ code, action, via }) => [code, action, via])).toEqual([
      ['CAPABILITY_DENIED', 'process.chdir', 'process'],
    ]);
  });

  it('gives a child no folder that the process itself may not read', async () => {
    const { kernel, refused } = await folderFixture();
    const pid = await kernel.processes.spawn({ capabilities: [{ resource: 'fs:src/**', rights: ['read'] }] });
    const child = await kernel.as(pid).spawnChild({ cwd: 'src/app' });
    expect((await kernel.processes.get(child)).cwd).toBe('src/app');
    for (const cwd of ['in', 'missing', '.']) {
      expect((await refused(() => kernel.as(pid).spawnChild({ cwd }))).code).toBe('CAPABILITY_DENIED');
      expect((await refused(() => kernel.as(pid).fork({ cwd }))).code).toBe('CAPABILITY_DENIED');
    }
    expect((await kernel.processes.get(await kernel.as(pid).spawnChild())).cwd).toBe('.');
  });

  it('gives a child a folder by a capability that is on record, and takes a use of it', async () => {
    // Regression: a spawn used the capability, and its record did not name it.
    const { kernel, path } = await folderFixture();
    const pid = await kernel.processes.spawn({ capabilities: [{ resource: 'fs:src', rights: ['read'], uses: 3 }] });
    const [capability] = (await kernel.capabilities.list(pid)).filter(({ resource }) => resource === 'fs:src');
    const spawned = await kernel.as(pid).spawnChild({ cwd: 'src' });
    const forked = await kernel.as(pid).fork({ cwd: 'src' });
    await kernel.as(pid).chdir('src');
    const { items } = await kernel.audit.list({ capability: capability?.id ?? '' });
    expect(items.map(({ action, target }) => [action, target])).toEqual([
      ['process.spawnChild', spawned],
      ['process.fork', forked],
      ['capability.spend', pid],
      ['process.chdir', pid],
    ]);
    expect((await kernel.capabilities.get(capability?.id ?? '')).status).toBe('spent');
    await checkInvariants(kernel, path);
  });
});

/** The code of the refusal of `path`: text that is not well-formed or too long is refused before it is parsed as a path. */
function codeOf(path: string): string {
  return path === '\ud800' || path.length > 4096 ? expect.stringMatching(/^INVALID_(INPUT|PATH)$/) : 'INVALID_PATH';
}
