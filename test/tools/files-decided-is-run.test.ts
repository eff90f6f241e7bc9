import { existsSync, readdirSync, readFileSync, readlinkSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CapabilitySpec, type JsonObject, type Kernel, KernelError, type Pid } from '../../src/index.js';
import { runsInSweep, runsOnStore } from '../support/seeded.js';
import { callTools, everyRight, type FileFixture, fileFixture } from '../support/tools/file-fixture.js';

/** Each file has its own path as its content. The accents are one character, and a letter with a combining accent. */
const files = [
  'docs/a.txt',
  'docs/deep/b.txt',
  'docs/\u00e9.txt',
  'docs/e\u0301.txt',
  'docs/e\u0301/x.txt',
  'docs/a b.txt',
  'docs/[a].txt',
  'docs/%2e%2e.txt',
  'docs/back\\slash.txt',
  'docs/star*.txt',
  'docs/C:x.txt',
  'docs/\u202etxt.a',
  'docs/.hidden',
  'docs/...',
  'private/a.txt',
  'private/\u00e9.txt',
  'private/e\u0301.txt',
  'private/docs/a.txt',
  'docs/denied/a.txt',
  'docs/denied/\u00e9.txt',
  'top.txt',
  '~/a.txt',
];
const links: Readonly<Record<string, string>> = {
  'docs/to-private': '../private',
  'docs/to-file': '../private/a.txt',
  'docs/to-denied': 'denied',
  'docs/to-self': 'to-self',
  'docs/to-top': '..',
  'docs/to-outside': '../../outside',
  'docs/to-secret': '../../outside/secret',
  'docs/to-inner': 'deep/b.txt',
  'docs/to-accent': 'e\u0301.txt',
  'docs/to-link': 'to-private/docs',
  'docs/dangling': '../private/new.txt',
  'private/to-docs': '../docs',
  'private/to-accent': '../docs/\u00e9.txt',
};
const names = [...new Set([...files, ...Object.keys(links)].flatMap((file) => file.split('/')))];

const part = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...names) },
  { weight: 3, arbitrary: fc.constantFrom('..', '.', '', 'docs', 'private', 'denied') },
  {
    weight: 1,
    arbitrary: fc.constantFrom('DOCS', 'A.TXT', 'new.txt', '%2e%2e', '..\\', '\0', '\ud800', 'a.txt\n', '*'),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 4 }) },
);
const known = fc.constantFrom(...files, ...Object.keys(links), 'docs', 'docs/deep', 'docs/denied', '.');
const spelling = fc.oneof(
  fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => parts.join('/')),
  known,
  known.map((file) => `WORKSPACE/${file}`),
  known.map((file) => `../${file}`),
  known.map((file) => `../docs/./to-top/../../${file}`),
  known.map((file) => file.replace('docs/', '')),
);
const call = fc.record({
  tool: fc.constantFrom('fs.read', 'fs.read', 'fs.search', 'fs.write', 'fs.delete', 'fs.stat', 'fs.list'),
  spelled: spelling,
  folder: fc.constantFrom('.', '.', 'docs', 'private', 'private/docs', 'docs/deep', 'docs/to-private', 'docs/to-top'),
});
const runs = runsOnStore(runsInSweep(2_000));

/** The last intent that was looked at. */
let seen = '0';

const isLinux = process.platform === 'linux';

describe('the file that was decided on', () => {
  it.skipIf(!isLinux)('is the one that a search opens, where another name only looks the same', async () => {
    const { call: callTool, spawnHolding, write } = await fileFixture();
    write('docs/\u00e9.txt', 'text of the one');
    write('docs/e\u0301.txt', 'text of the other');
    write('docs/a\u0301.txt', 'text of a third');
    const pid = await spawnHolding('fs:docs/**');
    expect(await callTool(pid, 'fs.search', { path: 'docs', pattern: 'text' })).toMatchObject({
      matches: [{ path: 'docs/\u00e9.txt', text: 'text of the one' }],
      files: 1,
      skipped: 1,
    });
  });

  // Other systems take several spellings for one name.
  it.skipIf(!isLinux)(
    'is the file that is opened, whatever its spelling, the working directory and the links',
    async () => {
      const fixture = await fileFixture();
      const { kernel, workspace, outsideFiles } = fixture;
      restore(fixture);
      const pids = [await spawnLimited(fixture, 'resource'), await spawnLimited(fixture, 'argument')];
      let opened = 0;
      await fc.assert(
        fc.asyncProperty(fc.constantFrom(...pids), call, async (pid, { tool, spelled, folder }) => {
          const { cwd } = await kernel.processes.get(pid);
          await kernel.processes.chdir(pid, path.posix.relative(`/${cwd}`, `/${folder}`) || '.');
          const before = entriesOf(workspace);
          const result = await attempt(fixture, pid, tool, spelled.replace('WORKSPACE', workspace));
          const after = entriesOf(workspace);
          const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
            (entry) => before.get(entry) !== after.get(entry),
          );
          if (changed.length > 0) restore(fixture);
          expect(outsideFiles()).toEqual({ secret: 'the outside secret' });
          if (result === undefined) {
            expect(changed).toEqual([]);
            return;
          }
          opened++;
          const { decided, real, answer } = result;
          const used = usedFiles(tool, real, answer, changed);
          expect({ decided, used, refused: used.filter((file) => !isAllowed(file)) }).toEqual({
            decided,
            used,
            refused: [],
          });
          // A search looks at all that lies below; a link is deleted itself.
          if (tool === 'fs.search') return;
          if (tool === 'fs.list')
            expect(answer.entries).toMatchObject(
              readdirSync(path.join(workspace, real))
                .sort()
                .map((name) => ({ name })),
            );
          else if (tool === 'fs.delete') expect(changed).toEqual([entryOf(workspace, decided)]);
          else expect(used).toEqual([real]);
          if (tool === 'fs.stat' && answer.type === 'file')
            expect(answer.size).toBe(Buffer.byteLength(before.get(real) ?? ''));
          expect(changed).toEqual(tool === 'fs.write' || tool === 'fs.delete' ? used : []);
        }),
        { numRuns: runs },
      );
      expect(opened).toBeGreaterThan(runs / 10);
    },
    240_000,
  );
});

interface Answered {
  /** The path on record. */
  readonly decided: string;
  /** Where it leads. */
  readonly real: string;
  readonly answer: JsonObject;
}

/** Undefined for a call that fails. */
async function attempt(
  { kernel, workspace, call: callTool }: FileFixture,
  pid: Pid,
  tool: string,
  spelled: string,
): Promise<Answered | undefined> {
  const more = { 'fs.search': { pattern: '/' }, 'fs.write': { content: 'written' } }[tool] ?? {};
  try {
    const answer = await callTool(pid, tool, { path: spelled, ...more });
    const decided = await lastDecided(kernel);
    return { decided, real: realOf(workspace, decided), answer };
  } catch (error) {
    if (error instanceof KernelError) return undefined;
    throw error;
  }
}

/** The files that a call has used, as the answer and the disk tell. */
function usedFiles(tool: string, real: string, answer: JsonObject, changed: readonly string[]): readonly string[] {
  if (tool === 'fs.read') return [String(answer.content)];
  if (tool === 'fs.search') return (answer.matches as { text: string }[]).map(({ text }) => text);
  return tool === 'fs.write' || tool === 'fs.delete' ? changed : [real];
}

/** Whether it is below `docs`, not below `docs/denied`, and has a name that a resource can spell. */
function isAllowed(file: string): boolean {
  const isSpelled = file === file.normalize('NFC') && !/[\\*\u202e]/.test(file);
  return isSpelled && /^docs(\/(?!denied(\/|$))|$)/.test(file);
}

/** A process that may use `docs`, but not `docs/denied`: by what its capabilities on files say, or those on the tools. */
async function spawnLimited({ kernel }: FileFixture, by: 'resource' | 'argument'): Promise<Pid> {
  const within: CapabilitySpec = { resource: 'fs:docs/**', rights: [...everyRight] };
  const pid = await kernel.processes.spawn({
    capabilities:
      by === 'resource'
        ? [callTools, within]
        : [
            { resource: 'fs:**', rights: [...everyRight] },
            {
              resource: 'tool:*',
              rights: ['call'],
              constraints: { path: { path: 'docs/**', optional: true }, '*': { any: true } },
            },
          ],
  });
  await kernel.capabilities.deny(pid, { resource: 'fs:docs/denied/**', rights: [...everyRight] });
  return pid;
}

/** The path of the intent that was recorded last. */
async function lastDecided({ audit }: Kernel): Promise<string> {
  const { items } = await audit.list({ action: 'tool.call', outcome: 'intent', after: seen, limit: 1_000 });
  const record = items.at(-1);
  seen = String(record?.seq);
  const args = record?.payload?.args as JsonObject | undefined;
  return String(args?.path);
}

/** Every entry of the workspace: a file with its content, a link with its target. */
function entriesOf(workspace: string): Map<string, string> {
  const entries = readdirSync(workspace, { recursive: true, withFileTypes: true });
  return new Map(
    entries
      .filter((entry) => !entry.isDirectory())
      .map((entry) => {
        const file = path.join(entry.parentPath, entry.name);
        const content = entry.isSymbolicLink() ? `-> ${readlinkSync(file)}` : readFileSync(file, 'utf8');
        return [path.relative(workspace, file), content];
      }),
  );
}

/** Where a path leads, in the one spelling that resources have: it is what is decided on and what is opened. */
function realOf(workspace: string, decided: string): string {
  const file = path.join(workspace, decided);
  return existsSync(file) ? path.relative(workspace, realpathSync(file)).normalize('NFC') || '.' : decided;
}

/** Where an entry itself lies, whether it is a link or not. */
function entryOf(workspace: string, decided: string): string {
  return path.join(realOf(workspace, path.dirname(decided)), path.basename(decided));
}

function restore({ workspace, write }: FileFixture): void {
  for (const name of readdirSync(workspace)) rmSync(path.join(workspace, name), { recursive: true });
  for (const file of files) write(file, file);
  for (const [link, target] of Object.entries(links)) symlinkSync(target, path.join(workspace, link));
}
