import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createKernel, type Pid } from '../../src/index.js';
import { openKernel, refusal, tempFolder } from '../support/kernel.js';
import { everyRight, type FileFixture, fileFixture } from '../support/tools/file-fixture.js';

const denied = { code: 'CAPABILITY_DENIED' };
const invalid = { code: 'INVALID_PATH' };

interface OwnFiles extends FileFixture {
  /** May use every file, tool and command. */
  readonly pid: Pid;
  /** The kernel's files that exist, relative to the workspace. */
  readonly files: readonly string[];
  file(name: string): string;
}

/** A kernel whose store lies in its workspace, as it does by default, with a key, checkpoints and output. */
async function ownFiles(lookupMode?: 'descriptor' | 'path'): Promise<OwnFiles> {
  const above = tempFolder();
  const store = path.join(above, 'inside', 'agents.db');
  const fixture = await fileFixture(lookupMode, { store }, above);
  const { kernel, workspace } = fixture;
  const pid = await kernel.processes.spawn({
    capabilities: [
      { resource: 'tool:**', rights: ['call'] },
      { resource: 'fs:**', rights: [...everyRight] },
      { resource: 'command:**', rights: ['call'] },
    ],
    budget: { children: 100 },
  });
  await kernel.as(pid).run({ argv: ['echo', 'output of another process'] });
  await kernel.audit.checkpoint();
  const output = readdirSync(path.join(workspace, 'agents.db.state', 'output'))[0];
  const files = ['agents.db', 'agents.db-wal', 'agents.db-shm', 'agents.db.state/key', 'agents.db.state/checkpoints'];
  return {
    ...fixture,
    pid,
    files: [...files, `agents.db.state/output/${output}`],
    file: (name) => path.join(workspace, name),
  };
}

describe.each([undefined, 'path'] as const)('the files of the kernel inside the workspace (%s)', (lookupMode) => {
  it('lie where they are said to, for their owner only', async () => {
    const { files, file } = await ownFiles(lookupMode);
    for (const name of files) expect([name, existsSync(file(name))]).toEqual([name, true]);
    expect(statSync(file('agents.db.state')).mode & 0o777).toBe(0o700);
    expect(readdirSync(file('.')).sort()).toEqual(['agents.db', 'agents.db-shm', 'agents.db-wal', 'agents.db.state']);
  });

  it('are refused to every file tool by their names, and stay as they were', async () => {
    const { call, pid, files, file, workspace } = await ownFiles(lookupMode);
    for (const name of [...files, path.join(workspace, 'agents.db'), './x/../agents.db', 'AGENTS.DB']) {
      for (const [tool, args] of [
        ['fs.read', {}],
        ['fs.stat', {}],
        ['fs.write', { content: 'x' }],
        ['fs.delete', {}],
        ['fs.search', { pattern: 'e' }],
      ] as const) {
        expect([tool, name, await refusal(call(pid, tool, { path: name, ...args }))]).toMatchObject([
          tool,
          name,
          denied,
        ]);
      }
    }
    for (const name of files) expect(existsSync(file(name))).toBe(true);
    for (const folder of ['agents.db.state', 'agents.db.state/output']) {
      expect(await refusal(call(pid, 'fs.list', { path: folder }))).toMatchObject(denied);
      expect(await refusal(call(pid, 'fs.search', { path: folder, pattern: 'e' }))).toMatchObject(denied);
      expect(await refusal(call(pid, 'fs.delete', { path: folder }))).toMatchObject(denied);
    }
  });

  it('are refused also where they do not exist, as files and as folders', async () => {
    const { call, pid, file } = await ownFiles(lookupMode);
    for (const name of ['agents.db-journal', 'agents.db.key', 'agents.db.output', 'agents.db.state/new']) {
      for (const spelled of [name, `${name}/inner.txt`]) {
        expect(await refusal(call(pid, 'fs.write', { path: spelled, content: 'x' }))).toMatchObject(denied);
      }
      expect(existsSync(file(name))).toBe(false);
    }
    expect(await call(pid, 'fs.write', { path: 'agents.db.txt', content: 'x' })).toMatchObject({ created: true });
  });

  it('are left out of lists and searches, whose other entries are given', async () => {
    const { call, pid, write, file } = await ownFiles(lookupMode);
    write('notes/a.txt', 'another process');
    linkSync(file('agents.db.state/checkpoints'), file('notes/linked'));
    linkSync(file('agents.db.state/output/2.out'), file('notes/second'));
    expect(await call(pid, 'fs.list', {})).toMatchObject({ entries: [{ name: 'notes' }] });
    expect(await call(pid, 'fs.list', { path: 'notes' })).toMatchObject({ entries: [{ name: 'a.txt' }] });
    expect(await call(pid, 'fs.search', { pattern: 'another process' })).toMatchObject({
      matches: [{ path: 'notes/a.txt' }],
      files: 1,
    });
  });

  it('are refused by symbolic links, hard links and links on the way', async () => {
    const { call, pid, files, file } = await ownFiles(lookupMode);
    mkdirSync(file('links'));
    symlinkSync(file('.'), file('links/root'));
    for (const [index, name] of files.entries()) {
      symlinkSync(file(name), file(`links/symbolic${index}`));
      linkSync(file(name), file(`links/hard${index}`));
      for (const spelled of [`links/symbolic${index}`, `links/hard${index}`, `links/root/${name}`]) {
        const before = readFileSync(file(name));
        for (const tool of ['fs.read', 'fs.stat', 'fs.delete'])
          expect([tool, spelled, await refusal(call(pid, tool, { path: spelled }))]).toMatchObject([
            tool,
            spelled,
            denied,
          ]);
        expect(await refusal(call(pid, 'fs.write', { path: spelled, content: 'x' }))).toMatchObject(denied);
        if (!name.startsWith('agents.db-') && name !== 'agents.db') expect(readFileSync(file(name))).toEqual(before);
      }
    }
  });

  it('are refused after their folder, or the file, was moved', async () => {
    const { call, pid, file } = await ownFiles(lookupMode);
    renameSync(file('agents.db.state'), file('moved'));
    renameSync(file('agents.db-shm'), file('memory'));
    for (const name of ['moved/key', 'moved/output/2.out', 'memory'])
      expect([name, await refusal(call(pid, 'fs.read', { path: name }))]).toMatchObject([name, denied]);
    expect(await refusal(call(pid, 'fs.list', { path: 'moved' }))).toMatchObject(denied);
    expect(await refusal(call(pid, 'fs.write', { path: 'moved/new.txt', content: 'x' }))).toMatchObject(denied);
    expect(await call(pid, 'fs.list', {})).toMatchObject({ entries: [] });
    renameSync(file('memory'), file('agents.db-shm'));
    renameSync(file('moved'), file('agents.db.state'));
  });
});

describe('the state folder as a working directory', () => {
  it('is refused to chdir, spawn and run, for the host and for processes, by any name', async () => {
    const { kernel, pid, file } = await ownFiles();
    mkdirSync(file('work'));
    symlinkSync(file('agents.db.state'), file('work/link'));
    const face = kernel.as(pid);
    for (const cwd of ['agents.db.state', 'agents.db.state/output', 'work/link', 'work/link/output', 'agents.db.key']) {
      const calls = [
        () => face.chdir(cwd),
        () => face.run({ argv: ['ls'], cwd }),
        () => face.spawnChild({ cwd }),
        () => kernel.processes.chdir(pid, cwd),
        () => kernel.processes.spawn({ cwd }),
        () => kernel.processes.spawnChild(pid, { cwd }),
      ];
      for (const call of calls)
        expect([cwd, (await refusal(call())).code]).toEqual([
          cwd,
          expect.stringMatching(/INVALID_PATH|CAPABILITY_DENIED/),
        ]);
    }
    expect(await face.chdir('work')).toBe('work');
  });

  it('is refused after it was moved, also to a process that stands in it', async () => {
    const { kernel, pid, file } = await ownFiles();
    mkdirSync(file('work'));
    await kernel.as(pid).chdir('work');
    rmSync(file('work'), { recursive: true });
    renameSync(file('agents.db.state'), file('work'));
    expect(await refusal(kernel.as(pid).run({ argv: ['ls'] }))).toMatchObject(invalid);
    expect(await refusal(kernel.processes.spawn({ cwd: 'work/output' }))).toMatchObject(invalid);
    renameSync(file('work'), file('agents.db.state'));
  });
});

describe('decisions on the files of the kernel', () => {
  it('are refused whatever is granted, so that no tool is given such a file', async () => {
    const { kernel, pid } = await ownFiles();
    const check = async (resource: string) => (await kernel.capabilities.check(pid, 'read', resource)).effect;
    expect(await check('fs:agents.db')).toBe('deny');
    expect(await check('fs:agents.db.state/key')).toBe('deny');
    expect(await check('fs:agents.txt')).toBe('allow');
  });
});

describe('a kernel in memory', () => {
  it('keeps its temporary output from its own file tools, and leaves nothing behind', async () => {
    const workspace = realpathSync(tmpdir());
    const kernel = await openKernel({ store: ':memory:', workspace, node: { executor: false } });
    const pid = await kernel.processes.spawn({
      capabilities: [
        { resource: 'tool:**', rights: ['call'] },
        { resource: 'fs:**', rights: [...everyRight] },
        { resource: 'command:**', rights: ['call'] },
      ],
      budget: { children: 5 },
    });
    const { outputFile } = await kernel.as(pid).run({ argv: ['echo', 'text'] });
    expect(readFileSync(outputFile, 'utf8')).toBe('text\n');
    expect(
      await refusal(kernel.as(pid).tools.call('fs.read', { path: path.relative(workspace, outputFile) })),
    ).toMatchObject(denied);
    await kernel.shutdown();
    expect(existsSync(path.dirname(outputFile))).toBe(false);
  });
});

describe('options.state', () => {
  it('has the key, the checkpoints and the output, and is refused to tools where it lies in the workspace', async () => {
    const above = realpathSync(tempFolder());
    const state = path.join(above, 'inside', 'private', 'state');
    const store = path.join(above, 'agents.db');
    const { kernel, call, spawnHolding } = await fileFixture(undefined, { store, state }, above);
    await kernel.audit.checkpoint();
    expect(readdirSync(state).sort()).toEqual(['checkpoints', 'key']);
    expect(statSync(state).mode & 0o777).toBe(0o700);
    expect(existsSync(`${store}.state`)).toBe(false);
    const pid = await spawnHolding('fs:**');
    expect(await refusal(call(pid, 'fs.read', { path: 'private/state/key' }))).toMatchObject(denied);
    expect(await call(pid, 'fs.list', { path: 'private' })).toMatchObject({ entries: [] });
  });

  it('is refused where the workspace lies in it', async () => {
    const folder = tempFolder();
    mkdirSync(path.join(folder, 'workspace'));
    expect(await refusal(openKernel({ workspace: path.join(folder, 'workspace'), state: folder }))).toMatchObject({
      code: 'INVALID_INPUT',
      facts: { path: 'options.state' },
    });
  });

  it('keeps the output of a store in memory', async () => {
    const state = mkdtempSync(path.join(tmpdir(), 'procura-'));
    onTestFinished(() => rmSync(state, { recursive: true, force: true }));
    const kernel = await openKernel({ store: ':memory:', state });
    const pid = await kernel.processes.spawn({
      capabilities: [{ resource: 'command:**', rights: ['call'] }],
      budget: { children: 5 },
    });
    const { outputFile } = await kernel.as(pid).run({ argv: ['echo', 'text'] });
    await kernel.shutdown();
    expect(path.dirname(outputFile)).toBe(path.join(realpathSync(state), 'output'));
    expect(existsSync(outputFile)).toBe(true);
  });
});

describe('the warning of createKernel', () => {
  it('is given once where the store or the state folder lies in the workspace, and not otherwise', async () => {
    const workspace = realpathSync(tempFolder());
    const outside = tempFolder();
    const warningsOf = async (options: { store: string; state?: string }) => {
      const warnings: unknown[] = [];
      const logger = { warn: (facts: object) => void warnings.push(facts), error: () => undefined };
      await openKernel({ workspace, logger, ...options });
      return warnings;
    };
    const inside = path.join(workspace, 'a.db');
    expect(await warningsOf({ store: inside })).toEqual([{ workspace, inside: [inside, `${inside}.state`] }]);
    const state = path.join(workspace, 'state');
    expect(await warningsOf({ store: path.join(outside, 'b.db'), state })).toEqual([{ workspace, inside: [state] }]);
    expect(await warningsOf({ store: path.join(outside, 'c.db') })).toEqual([]);
    expect(await warningsOf({ store: ':memory:' })).toEqual([]);
  });

  it('is not given for the default workspace, whose kernel files no file tool opens either', async () => {
    const folder = realpathSync(tempFolder());
    const before = process.cwd();
    onTestFinished(() => process.chdir(before));
    process.chdir(folder);
    const warnings: object[] = [];
    const logger = { warn: (facts: object) => void warnings.push(facts), error: () => undefined };
    const kernel = await createKernel({ store: 'agents.db', logger });
    onTestFinished(async () => void (await kernel.shutdown()));
    const tool = { resource: 'tool:fs.read', rights: ['call' as const] };
    const pid = await kernel.processes.spawn({ capabilities: [tool, { resource: 'fs:**', rights: ['read'] }] });
    expect(warnings).toEqual([]);
    expect(await refusal(kernel.as(pid).tools.call('fs.read', { path: 'agents.db' }))).toMatchObject({
      code: 'CAPABILITY_DENIED',
    });
    const named = await createKernel({ store: 'agents.db', workspace: '.', logger });
    await named.shutdown();
    const file = path.join(folder, 'agents.db');
    expect(warnings).toEqual([{ workspace: folder, inside: [file, `${file}.state`] }]);
  });
});
