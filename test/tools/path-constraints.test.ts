import { mkdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Constraints, defineTool, type JsonObject, type Pid } from '../../src/index.js';
import { refusal } from '../support/kernel.js';
import { everyRight, type FileFixture, fileFixture } from '../support/tools/file-fixture.js';

const constrained = { code: 'CAPABILITY_DENIED', facts: { code: 'CONSTRAINT' } };

const readOwn = defineTool({
  name: 'own.read',
  description: 'Tells which file it was given.',
  effect: 'pure',
  input: z.strictObject({ file: z.string() }),
  paths: ['file'],
  run: ({ file }: { file: string }) => ({ file }),
});

/** A process that may use all files, and these tools and commands with these constraints only. */
async function limited(
  constraints: Constraints,
  { resources = ['tool:*'], cwd = '.' }: { resources?: string[]; cwd?: string } = {},
): Promise<FileFixture & { pid: Pid; as: (tool: string, args: JsonObject) => Promise<JsonObject> }> {
  const fixture = await fileFixture(undefined, { tools: [readOwn] });
  for (const file of ['docs/a.txt', 'private/docs/a.txt', 'private/b.txt']) fixture.write(file, `text of ${file}`);
  mkdirSync(path.join(fixture.workspace, 'docs/deep'));
  const pid = await fixture.kernel.processes.spawn({
    cwd,
    capabilities: [
      ...resources.map((resource) => ({ resource, rights: ['call'], constraints }) as const),
      { resource: 'fs:**', rights: [...everyRight] },
    ],
    budget: { children: 100 },
  });
  return { ...fixture, pid, as: (tool, args) => fixture.call(pid, tool, args) };
}

describe('a path constraint on a file tool', () => {
  const within: Constraints = { path: { path: 'docs/**' }, '*': { any: true } };
  const args: Record<string, JsonObject> = {
    'fs.read': {},
    'fs.stat': {},
    'fs.list': {},
    'fs.search': { pattern: 'text' },
    'fs.write': { content: 'x' },
    'fs.delete': {},
  };

  it.each(Object.keys(args))('is about the file that %s opens, from every working directory', async (tool) => {
    const { kernel, pid, as, read } = await limited(within);
    await kernel.as(pid).chdir('private');
    expect(await refusal(as(tool, { path: 'docs/a.txt', ...args[tool] }))).toMatchObject(constrained);
    expect(await refusal(as(tool, { path: '../private/docs/a.txt', ...args[tool] }))).toMatchObject(constrained);
    expect(read('private/docs/a.txt')).toBe('text of private/docs/a.txt');
    const target = tool === 'fs.list' ? '../docs' : '../docs/a.txt';
    await as(tool, { path: target, ...args[tool] });
    await kernel.as(pid).chdir('../docs');
    if (tool !== 'fs.delete') await as(tool, { path: tool === 'fs.list' ? '.' : './a.txt', ...args[tool] });
  });

  it('is about the working directory where no path is given', async () => {
    const { kernel, pid, as } = await limited(within);
    await kernel.as(pid).chdir('private');
    expect(await refusal(as('fs.list', {}))).toMatchObject(constrained);
    expect(await refusal(as('fs.search', { pattern: 'text' }))).toMatchObject(constrained);
    await kernel.as(pid).chdir('../docs/deep');
    expect(await as('fs.list', {})).toMatchObject({ entries: [] });
  });

  it.each<[string, Constraints]>([
    ['eq', { path: { eq: 'docs/a.txt' }, '*': { any: true } }],
    ['in', { path: { in: ['docs/a.txt'] }, '*': { any: true } }],
    ['prefix', { path: { prefix: 'docs/' }, '*': { any: true } }],
    ['all', { path: { all: [{ prefix: 'docs/' }, { path: '**' }] }, '*': { any: true } }],
  ])('sees one spelling of a file, also by %s', async (_, constraints) => {
    const { kernel, pid, as, workspace } = await limited(constraints);
    for (const spelled of [
      'docs/a.txt',
      './docs/a.txt',
      'private/../docs/a.txt',
      'docs//a.txt',
      `${workspace}/docs/a.txt`,
    ])
      expect(await as('fs.read', { path: spelled })).toMatchObject({ content: 'text of docs/a.txt' });
    await kernel.as(pid).chdir('private');
    expect(await refusal(as('fs.read', { path: 'docs/a.txt' }))).toMatchObject(constrained);
    expect(await as('fs.read', { path: '../docs/a.txt' })).toMatchObject({ content: 'text of docs/a.txt' });
  });

  it('must also hold where the links of a path lead', async () => {
    const { as, workspace } = await limited(within);
    symlinkSync('../private/b.txt', path.join(workspace, 'docs/link'));
    symlinkSync('../private', path.join(workspace, 'docs/folder'));
    symlinkSync('a.txt', path.join(workspace, 'docs/inner'));
    for (const spelled of ['docs/link', 'docs/folder/b.txt', 'docs/folder/new.txt']) {
      expect(await refusal(as('fs.read', { path: spelled }))).toMatchObject(constrained);
      expect(await refusal(as('fs.write', { path: spelled, content: 'x' }))).toMatchObject(constrained);
    }
    expect(await as('fs.read', { path: 'docs/inner' })).toMatchObject({ content: 'text of docs/a.txt' });
  });

  it('is shown to approvals and on record as it was compared', async () => {
    const { kernel, pid, as } = await limited({ path: { path: '**' }, '*': { any: true } });
    await kernel.as(pid).chdir('private');
    await as('fs.stat', { path: 'docs/a.txt' });
    const { items } = await kernel.audit.list({ action: 'tool.call' });
    const payloads = JSON.stringify(await Promise.all(items.map(({ seq }) => kernel.audit.get(seq))));
    expect(payloads).toContain('"path":"private/docs/a.txt"');
  });

  it('leaves results and errors relative to the working directory', async () => {
    const { kernel, pid, as } = await limited({ '*': { any: true } });
    await kernel.as(pid).chdir('private');
    expect(await as('fs.search', { pattern: 'text of docs', path: '..' })).toMatchObject({
      matches: [{ path: '../docs/a.txt' }],
    });
    expect(await refusal(as('fs.read', { path: 'docs/none' }))).toMatchObject({ facts: { path: 'docs/none' } });
  });
});

describe('a path constraint on a tool of the host', () => {
  it('is about the path that the tool is given, where the tool names its paths', async () => {
    const { kernel, pid, as } = await limited({ file: { path: 'docs/**' } }, { resources: ['tool:own.read'] });
    expect(await as('own.read', { file: './docs/a.txt' })).toEqual({ file: 'docs/a.txt' });
    await kernel.as(pid).chdir('private');
    expect(await refusal(as('own.read', { file: 'docs/a.txt' }))).toMatchObject(constrained);
    expect(await refusal(as('own.read', { file: '../../x' }))).toMatchObject({ code: 'INVALID_PATH' });
    expect(await as('own.read', { file: '../docs/a.txt' })).toEqual({ file: 'docs/a.txt' });
  });
});

describe('a constraint on the folder of a command', () => {
  const inDocs: Constraints = { argv: { eq: ['pwd'] }, cwd: { path: 'docs/**', optional: true } };

  it('is about the folder that it runs in, named or not', async () => {
    const { kernel, pid, workspace } = await limited(inDocs, { resources: ['command:pwd'] });
    const face = kernel.as(pid);
    expect(await refusal(face.run({ argv: ['pwd'] }))).toMatchObject(constrained);
    expect(await face.run({ argv: ['pwd'], cwd: './docs' })).toMatchObject({ stdout: `${workspace}/docs\n` });
    expect(await face.run({ argv: ['pwd'], cwd: `${workspace}/docs` })).toMatchObject({
      stdout: `${workspace}/docs\n`,
    });
    await face.chdir('private');
    expect(await refusal(face.run({ argv: ['pwd'] }))).toMatchObject(constrained);
    expect(await refusal(face.run({ argv: ['pwd'], cwd: 'docs' }))).toMatchObject(constrained);
    expect(await face.run({ argv: ['pwd'], cwd: '../docs/deep' })).toMatchObject({ exitCode: 0 });
    await face.chdir('../docs');
    expect(await face.run({ argv: ['pwd'] })).toMatchObject({ stdout: `${workspace}/docs\n` });
    expect(await refusal(face.run({ argv: ['pwd'], cwd: '/etc' }))).toMatchObject({ code: 'INVALID_PATH' });
  });

  it('must also hold where the links of the folder lead', async () => {
    const { kernel, pid, workspace } = await limited(inDocs, { resources: ['command:pwd'] });
    symlinkSync('../private', path.join(workspace, 'docs/link'));
    const face = kernel.as(pid);
    expect(await refusal(face.run({ argv: ['pwd'], cwd: 'docs/link' }))).toMatchObject(constrained);
    await face.chdir('docs/link');
    expect(await refusal(face.run({ argv: ['pwd'] }))).toMatchObject(constrained);
  });

  it('is not needed where a process runs a command in its own folder', async () => {
    const { kernel, pid } = await limited({ argv: { eq: ['pwd'] } }, { resources: ['command:pwd'], cwd: 'private' });
    expect(await kernel.as(pid).run({ argv: ['pwd'] })).toMatchObject({ exitCode: 0 });
    expect(await refusal(kernel.as(pid).run({ argv: ['pwd'], cwd: 'docs' }))).toMatchObject(constrained);
  });

  it('is about the folder of command.run as well', async () => {
    const constraints: Constraints = { cwd: { path: 'docs/**' }, '*': { any: true } };
    const { kernel, pid, as, workspace } = await limited(constraints, {
      resources: ['tool:command.run', 'command:pwd'],
    });
    await kernel.as(pid).chdir('private');
    expect(await refusal(as('command.run', { argv: ['pwd'], cwd: 'docs' }))).toMatchObject(constrained);
    expect(await as('command.run', { argv: ['pwd'], cwd: '../docs' })).toMatchObject({ stdout: `${workspace}/docs\n` });
  });
});

describe('a folder that a command is run in', () => {
  it('needs read on where its links lead', async () => {
    const { kernel, workspace, write } = await fileFixture();
    write('docs/a.txt', '');
    write('private/b.txt', '');
    symlinkSync('../private', path.join(workspace, 'docs/link'));
    const pid = await kernel.processes.spawn({
      capabilities: [
        { resource: 'command:pwd', rights: ['call'] },
        { resource: 'fs:docs/**', rights: ['read'] },
      ],
      budget: { children: 10 },
    });
    expect(await refusal(kernel.as(pid).run({ argv: ['pwd'], cwd: 'docs/link' }))).toMatchObject({
      code: 'CAPABILITY_DENIED',
    });
    expect(await kernel.as(pid).run({ argv: ['pwd'], cwd: 'docs' })).toMatchObject({ exitCode: 0 });
  });
});
