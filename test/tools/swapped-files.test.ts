import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, renameSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type JsonObject, KernelError, type Pid, type Tool } from '../../src/index.js';
import { fsTools } from '../../src/tools/builtin/fs-tools.js';
import { defaultLookupMode, type LookupMode } from '../../src/tools/files/open-folder.js';
import { refusal } from '../support/kernel.js';
import { runsInSweep } from '../support/seeded.js';
import { isSqlite } from '../support/store-kind.js';
import { type FileFixture, fileFixture, memoryFolder } from '../support/tools/file-fixture.js';

const never = 'between check and use never lets a tool read or write outside the workspace';
/** Ten thousand in a sweep. */
const calls = runsInSweep(10_000);
const program = fileURLToPath(new URL('programs/swap-links.mjs', import.meta.url));

describe('a link that is put in the place of a folder or a file', () => {
  // Where there is nothing but paths, some turns of a link cannot be told from none. It always has its store in memory.
  it.runIf(isSqlite && defaultLookupMode === 'descriptor')(
    `${calls} times ${never}`,
    async () => {
      const fixture = await fileFixture(undefined, { store: ':memory:' }, memoryFolder());
      const { outsideFiles, call, spawnHolding, outside, write, workspace } = fixture;
      write('data/dir/secret', 'inside');
      write('data/file', 'inside');
      mkdirSync(path.join(workspace, 'spare'));
      symlinkSync(outside, path.join(workspace, 'spare/dir'));
      symlinkSync(path.join(outside, 'secret'), path.join(workspace, 'spare/file'));
      const before = outsideFiles();
      const pids = [await spawnHolding('fs:data/**'), await spawnHolding('fs:**')];
      const stop = await swapping(workspace);
      const seen: Seen = { done: 0, codes: new Map() };
      await callMany(calls, seen, (index) => {
        const [tool, args] = acts[index % acts.length]?.(index) ?? ['', {}];
        return call(pids[index % pids.length] as Pid, tool, args);
      });
      const swaps = await stop();
      expect(outsideFiles()).toEqual(before);
      const odd = [...seen.codes.keys()].filter((code) => !expected.has(code));
      expect(odd).toEqual([]);
      const refused = [...seen.codes.values()].reduce((sum, count) => sum + count, 0);
      expect(seen.done + refused).toBe(calls);
      // It was under way all the time, and both states have been met.
      expect([swaps > 100, seen.done > 0, refused > 0]).toEqual([true, true, true]);
    },
    180_000,
  );

  it.each(['descriptor', 'path'] as const)('after the decision is met by no tool, by %s', async (lookupMode) => {
    const { tried, fixture } = await decidedAndSwapped(lookupMode, 'data/dir', (folder) => folder.outside);
    for (const { tool, result } of tried) expect([tool, result]).toMatchObject([tool, { code: 'INVALID_PATH' }]);
    expect(fixture.outsideFiles()).toEqual({ secret: 'the outside secret' });
  });

  it.each(['descriptor', 'path'] as const)(
    'after the decision on a file is met by no tool, by %s',
    async (lookupMode) => {
      const { tried, fixture } = await decidedAndSwapped(
        lookupMode,
        'data/dir/file',
        ({ outside }) => `${outside}/secret`,
      );
      const codes = Object.fromEntries(tried.map(({ tool, result }) => [tool, result.code ?? 'done']));
      expect(codes).toEqual({
        'fs.read': 'INVALID_PATH',
        'fs.write': 'INVALID_PATH',
        'fs.list': 'INVALID_PATH',
        'fs.stat': 'INVALID_PATH',
        'fs.search': 'INVALID_PATH',
        // The link itself is what has the name now.
        'fs.delete': 'done',
      });
      expect(fixture.outsideFiles()).toEqual({ secret: 'the outside secret' });
    },
  );
});

describe('a file that comes or goes between check and use', () => {
  it.each(['descriptor', 'path'] as const)('is neither overwritten nor made, by %s', async (lookupMode) => {
    const fixture = await fileFixture(lookupMode);
    const { call, spawnHolding, write, workspace, read } = fixture;
    const pid = await spawnHolding('fs:**');
    stageTool(fixture, lookupMode, 'fs.write', () => write('new', 'of another'));
    const made = await refusal(call(pid, 'late.fs.write', { path: 'new', content: 'mine' }));
    expect([made.code, read('new')]).toEqual(['CONFLICT', 'of another']);
    write('old', 'of another');
    stageTool(fixture, lookupMode, 'fs.write', () =>
      renameSync(path.join(workspace, 'old'), path.join(workspace, 'gone')),
    );
    const written = await refusal(call(pid, 'late.fs.write', { path: 'old', content: 'mine' }));
    expect([written.code, readdirSync(workspace).sort()]).toEqual(['CONFLICT', ['gone', 'new']]);
  });
});

interface Seen {
  done: number;
  readonly codes: Map<string, number>;
}

const expected = new Set(['INVALID_PATH', 'CAPABILITY_DENIED', 'CONFLICT']);

/** Reads and writes, each of a name below the folder and of the file itself. */
const acts: readonly ((index: number) => [tool: string, args: JsonObject])[] = [
  () => ['fs.read', { path: 'data/dir/secret' }],
  () => ['fs.write', { path: 'data/dir/secret', content: 'inside' }],
  () => ['fs.read', { path: 'data/file' }],
  () => ['fs.write', { path: 'data/file', content: 'inside' }],
  (index) => ['fs.write', { path: `data/dir/new${index % 7}`, content: 'inside' }],
  () => ['fs.search', { path: 'data/dir', pattern: 'secret' }],
  (index) => ['fs.delete', { path: `data/dir/new${index % 7}` }],
  () => ['fs.list', { path: 'data/dir' }],
];

/** Sixteen at a time. What is refused is counted; what is given must not come from outside. */
async function callMany(count: number, seen: Seen, call: (index: number) => Promise<JsonObject>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) {
      try {
        const result = await call(next++);
        expect(JSON.stringify(result)).not.toContain('outside');
        seen.done++;
      } catch (error) {
        if (!(error instanceof KernelError)) throw error;
        seen.codes.set(error.code, (seen.codes.get(error.code) ?? 0) + 1);
      }
    }
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}

/** Starts the program that swaps. Ends it when it is called, and answers with how often it has. */
async function swapping(workspace: string): Promise<() => Promise<number>> {
  const child = spawn(process.execPath, [program, workspace], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = once(child, 'close');
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  await once(child.stdout, 'data');
  return async () => {
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    return Number(said.split('\n')[1]);
  };
}

interface Tried {
  readonly tool: string;
  readonly result: { readonly code?: string };
}

/** Calls every tool on a file; after the decision, what is at `name` is replaced by a link. */
async function decidedAndSwapped(
  lookupMode: LookupMode,
  name: string,
  to: (fixture: FileFixture) => string,
): Promise<{ tried: Tried[]; fixture: FileFixture }> {
  const fixture = await fileFixture(lookupMode);
  const { call, spawnHolding, write, workspace } = fixture;
  const pid = await spawnHolding('fs:**');
  const tried: Tried[] = [];
  for (const tool of ['fs.read', 'fs.write', 'fs.list', 'fs.stat', 'fs.search', 'fs.delete']) {
    const target = path.join(workspace, name);
    write('data/dir/file', 'inside');
    stageTool(fixture, lookupMode, tool, () => {
      renameSync(target, `${target}.away`);
      symlinkSync(to(fixture), target);
    });
    const asked = tool === 'fs.list' && name === 'data/dir' ? 'data/dir' : 'data/dir/file';
    const more = { 'fs.search': { pattern: 'secret' }, 'fs.write': { content: 'new' } }[tool] ?? {};
    const result = call(pid, `late.${tool}`, { path: asked, ...more });
    tried.push({ tool, result: await result.then(() => ({}), codeOf) });
    renameSync(`${path.join(workspace, 'data')}`, path.join(workspace, `done ${tool}`));
  }
  return { tried, fixture };
}

function codeOf(error: unknown): { code: string } {
  if (!(error instanceof KernelError)) throw error;
  return { code: error.code };
}

/** Registers a tool as `late.NAME`, which waits after the decision for `meanwhile`. */
function stageTool({ kernel }: FileFixture, lookupMode: LookupMode, name: string, meanwhile: () => void): void {
  const tool = fsTools(lookupMode).find((one) => one.name === name);
  if (tool === undefined) throw new Error(`no tool ${name}`);
  const late = `${lookupMode}.late.${name}`;
  const run: Tool['run'] = (args, context) => {
    registered[Symbol.dispose]();
    meanwhile();
    return tool.run(args, context);
  };
  const registered = kernel.tools.register({ ...tool, name: late, run });
}
