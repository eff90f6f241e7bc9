import { describe, expect, it } from 'vitest';
import type { SpawnSpec } from '../../src/index.js';
import { kernelFixture } from '../support/kernel-fixture.js';
import { openRawTables } from '../support/storage/raw-tables.js';

const search = { resource: 'tool:search', rights: ['call'], delegable: true } as const;
const spec = {
  id: 'job',
  image: 'worker',
  goal: 'a',
  args: { n: 1 },
  labels: { team: 'sea' },
  env: { MODE: 'fast' },
  budget: { tokens: 5 },
  held: true,
} as const satisfies SpawnSpec;

describe('another spec for an id that is taken', () => {
  it('is told by the members that differ, also after a restart', async () => {
    const { kernel, path } = await kernelFixture();
    const pid = await kernel.processes.spawn(spec);
    await kernel.shutdown();
    const { kernel: again, refused } = await kernelFixture({ store: path });
    expect(await again.processes.spawn(spec)).toBe(pid);
    const { held: _held, labels: _labels, ...less } = spec;
    const others: [SpawnSpec, string[]][] = [
      [{ ...spec, goal: 'b' }, ['goal']],
      [{ ...spec, args: { n: 2 }, budget: { tokens: 6 } }, ['args', 'budget']],
      [{ ...spec, env: { MODE: 'slow' } }, ['env']],
      [{ ...spec, capabilities: [search], name: 'other' }, ['capabilities', 'name']],
      [
        { ...spec, image: 'base', queue: 'night', externalRef: 'x', onParentExit: 'reparent' },
        ['externalRef', 'image', 'onParentExit', 'queue'],
      ],
      [less, ['held', 'labels']],
    ];
    for (const [other, members] of others) {
      expect(await refused(() => again.processes.spawn(other))).toEqual({
        code: 'CONFLICT',
        facts: { id: 'job', pid, members },
      });
    }
    await expect(again.processes.spawn({ ...spec, goal: 'b' })).rejects.toThrow(/another spec: goal\.$/);
  });

  it('is told for children and forks too', async () => {
    const { kernel, refused } = await kernelFixture();
    const root = await kernel.processes.spawn({ image: 'worker', capabilities: [search] });
    const child = await kernel.as(root).spawnChild({ id: 'a', image: 'worker' });
    const fork = await kernel.processes.fork(root, { id: 'b', mode: 'copy' });
    expect(await refused(() => kernel.as(root).spawnChild({ id: 'a', image: 'worker', delegate: [search] }))).toEqual({
      code: 'CONFLICT',
      facts: { id: 'a', pid: child, members: ['delegate'] },
    });
    expect(await refused(() => kernel.processes.fork(root, { id: 'b', view: { types: ['plan'] } }))).toEqual({
      code: 'CONFLICT',
      facts: { id: 'b', pid: fork, members: ['mode', 'view'] },
    });
  });

  it('is told by none where an earlier release has registered it', async () => {
    const { kernel, path, refused } = await kernelFixture();
    const pid = await kernel.processes.spawn(spec);
    await using tables = openRawTables(path);
    await tables.update('registrations', { id: 'job' }, { members: null });
    expect(await refused(() => kernel.processes.spawn({ ...spec, goal: 'b' }))).toEqual({
      code: 'CONFLICT',
      facts: { id: 'job', pid },
    });
    expect(await kernel.processes.spawn(spec)).toBe(pid);
  });
});

describe("onConflict: 'keep'", () => {
  it('answers with the process that is there, live or ended, and changes nothing', async () => {
    const { kernel } = await kernelFixture();
    const pid = await kernel.processes.spawn(spec);
    const other = { ...spec, goal: 'b', onConflict: 'keep' } as const;
    const before = await kernel.processes.get(pid);
    expect(await kernel.processes.spawn(other)).toBe(pid);
    expect(await kernel.processes.get(pid)).toEqual(before);
    await kernel.processes.exit(pid);
    expect(await kernel.processes.spawn(other)).toBe(pid);
    expect((await kernel.processes.list()).items).toHaveLength(1);
    const root = await kernel.processes.spawn({ image: 'worker' });
    const child = await kernel.as(root).spawnChild({ id: 'a', goal: 'x', onConflict: 'keep' });
    expect(await kernel.as(root).spawnChild({ id: 'a', goal: 'y', onConflict: 'keep' })).toBe(child);
    expect(await kernel.processes.fork(root, { id: 'a', onConflict: 'keep' })).toBe(child);
  });

  it('is no part of what the id stands for, and is refused where it is no word of the contract', async () => {
    const { kernel, refused } = await kernelFixture();
    const pid = await kernel.processes.spawn({ ...spec, onConflict: 'keep' });
    expect(await kernel.processes.spawn({ ...spec, onConflict: 'refuse' })).toBe(pid);
    expect(await kernel.processes.spawn(spec)).toBe(pid);
    const other = { ...spec, goal: 'b', onConflict: 'refuse' } as const;
    expect((await refused(() => kernel.processes.spawn(other))).code).toBe('CONFLICT');
    const unknown = { ...spec, onConflict: 'replace' } as never;
    expect((await refused(() => kernel.processes.spawn(unknown))).code).toBe('INVALID_INPUT');
  });
});

describe('the record of a process', () => {
  it('has what it was spawned with, and of its environment the names only', async () => {
    const { kernel, path } = await kernelFixture();
    const env = { TOKEN: 'tell-nobody', MODE: 'fast' };
    const pid = await kernel.processes.spawn({ ...spec, env, queue: 'night', externalRef: 'job/7' });
    const expected = {
      id: 'job',
      args: { n: 1 },
      env: ['MODE', 'TOKEN'],
      queue: 'night',
      externalRef: 'job/7',
      recovery: 'rerun',
    };
    const record = await kernel.processes.get(pid);
    expect(record).toMatchObject({ ...expected, goal: expect.any(String) });
    expect(JSON.stringify(record)).not.toContain('tell-nobody');
    expect((await kernel.processes.list()).items).toEqual([record]);
    expect(await kernel.processes.get(await kernel.processes.spawn({}))).not.toHaveProperty('env');
    await kernel.processes.exit(pid, { result: 7 });
    const { result = '' } = await kernel.processes.get(pid);
    expect((await kernel.memory.inspect(result)).payload).toBe(7);
    await kernel.shutdown();
    const again = (await kernelFixture({ store: path })).kernel;
    expect(await again.processes.get(pid)).toMatchObject({ ...expected, result });
  });
});
