import { spawn } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { createKernel, defineImage, defineSupervisor, type KernelOptions, type SpawnFacts } from '../../src/index.js';
import { anyCommand } from '../support/command-fixture.js';
import { newStore, openKernel, refusal } from '../support/kernel.js';
import { kernelFixture, worker } from '../support/kernel-fixture.js';

/** A hook that keeps what it is told and refuses while `reason` is set. */
function policy() {
  const asked: SpawnFacts[] = [];
  const state = { asked, reason: undefined as string | undefined };
  const beforeSpawn = async (facts: SpawnFacts) => {
    asked.push(facts);
    if (state.reason !== undefined) throw new Error(state.reason);
  };
  return { state, asked, beforeSpawn };
}

describe('beforeSpawn', () => {
  it('is told who spawns what, with the arguments as the process gets them', async () => {
    const input = {
      '~standard': { version: 1 as const, vendor: 'test', validate: () => ({ value: { n: 1, checked: true } }) },
    };
    const checked = defineImage({ name: 'checked', input, run: async () => null });
    const { asked, beforeSpawn } = policy();
    const { kernel } = await kernelFixture({ beforeSpawn, images: [worker, checked] });
    const spec = { name: 'top', labels: { team: 'a' }, owner: { session: 's' } };
    const root = await kernel.processes.spawn({ image: 'checked', args: { n: '1' }, ...spec });
    const args = { n: 1, checked: true };
    expect(asked).toEqual([{ parent: null, by: 'host', image: 'checked@1', kind: 'agent', ...spec, args }]);
    await kernel.processes.spawnChild(root, { image: 'worker' });
    await kernel.as(root).spawnChild({ image: 'worker', args: [1] });
    await kernel.as(root).fork({ image: 'worker' });
    const worked = { parent: root, image: 'worker@1', kind: 'agent', labels: {}, owner: {}, args: {} };
    expect(asked.slice(1)).toEqual([
      { ...worked, by: 'host' },
      { ...worked, by: root, args: [1] },
      { ...worked, by: root },
    ]);
  });

  it('refuses with its reason, and nothing is changed but the record of the refusal', async () => {
    const { state, beforeSpawn } = policy();
    const { kernel, refused } = await kernelFixture({ beforeSpawn });
    const root = await kernel.processes.spawn({});
    state.reason = 'only ten on weekdays';
    const refusalOf = (parent: string | null) => ({
      code: 'SPAWN_REFUSED',
      facts: { reason: 'only ten on weekdays', image: 'worker@1', parent },
    });
    const spec = { image: 'worker' };
    expect(await refused(() => kernel.processes.spawn(spec))).toEqual(refusalOf(null));
    expect(await refused(() => kernel.processes.spawnChild(root, spec))).toEqual(refusalOf(root));
    expect(await refused(() => kernel.as(root).spawnChild(spec))).toEqual(refusalOf(root));
    expect(await refused(() => kernel.as(root).fork(spec))).toEqual(refusalOf(root));
    // Repeated refusals of one actor are counted.
    const records = (await kernel.audit.list({ outcome: 'refused' })).items;
    expect(records.map(({ action, code }) => [action, code])).toEqual([
      ['process.spawn', 'SPAWN_REFUSED'],
      ['process.spawnChild', 'SPAWN_REFUSED'],
      ['process.fork', 'SPAWN_REFUSED'],
    ]);
    state.reason = undefined;
    expect(await kernel.processes.spawn(spec)).toMatch(/^p_/);
  });

  it('is asked for what tools, supervisors and bodies spawn', async () => {
    const { state, asked, beforeSpawn } = policy();
    const team = defineSupervisor({
      name: 'team',
      strategy: 'one_for_one',
      intensity: 1,
      periodMs: 60_000,
      children: [{ name: 'one', image: 'worker', restart: 'temporary' }],
    });
    const parent = defineImage({ name: 'parent', run: (ctx) => ctx.spawnChild({ image: 'worker' }) });
    const kernel = await openKernel({ beforeSpawn, images: [worker, team, parent] });
    const call = { resource: 'tool:process.spawn', rights: ['call' as const] };
    const root = await kernel.processes.spawn({ capabilities: [call] });
    await kernel.as(root).tools.call('process.spawn', { image: 'worker' });
    const supervisor = await kernel.processes.spawn({ image: 'team' });
    await kernel.processes.result(supervisor);
    const spawner = await kernel.processes.spawn({ image: 'parent' });
    await kernel.processes.result(spawner);
    const workers = asked.filter(({ image }) => image === 'worker@1').map(({ by }) => by);
    expect(workers).toEqual([root, supervisor, spawner]);
    state.reason = 'no more';
    const refused = await refusal(kernel.as(root).tools.call('process.spawn', { image: 'worker' }));
    expect(JSON.stringify(refused)).toContain('SPAWN_REFUSED');
  });

  it('is asked for commands and for the programs of MCP servers', async () => {
    const { state, asked, beforeSpawn } = policy();
    const kernel = await openKernel({ beforeSpawn });
    const root = await kernel.processes.spawn({ capabilities: [anyCommand] });
    const owner = { turn: 't1' };
    expect(await kernel.as(root).run({ argv: ['echo', 'hello'], owner })).toMatchObject({ exitCode: 0 });
    expect(asked.at(-1)).toMatchObject({ parent: root, by: root, image: 'command@1', kind: 'command', owner });
    expect(asked.at(-1)?.args).toMatchObject({ argv: ['echo', 'hello'] });
    state.reason = 'no programs';
    const isRefused = { code: 'SPAWN_REFUSED', facts: { reason: 'no programs' } };
    expect(await refusal(kernel.as(root).run({ argv: ['echo', 'hello'] }))).toMatchObject(isRefused);
    expect(await refusal(kernel.tools.connectMcp('s', { command: 'true' }))).toMatchObject(isRefused);
    expect((await kernel.processes.list({ live: true })).items.map(({ pid }) => pid)).toEqual([root]);
  });

  it('is asked for a program that is adopted, which then stays as it is', async () => {
    const { state, asked, beforeSpawn } = policy();
    const { kernel } = await kernelFixture({ beforeSpawn, node: { executor: true } });
    const program = spawn('sleep', ['60'], { stdio: 'ignore' });
    try {
      const osPid = program.pid ?? 0;
      state.reason = 'not this one';
      const spec = { osPid, name: 'sleeper', owner: { source: 'subprocess' } };
      expect((await refusal(kernel.processes.adopt(spec))).code).toBe('SPAWN_REFUSED');
      expect((await kernel.processes.list()).items).toEqual([]);
      expect(asked).toMatchObject([{ parent: null, by: 'host', kind: 'command', name: 'sleeper', owner: spec.owner }]);
      state.reason = undefined;
      expect(await kernel.processes.adopt(spec)).toMatchObject({ pid: expect.any(String) });
    } finally {
      program.kill('SIGKILL');
    }
  });

  it('is not asked for a process that is there already', async () => {
    const store = await newStore();
    const { state, asked, beforeSpawn } = policy();
    const options = { store, beforeSpawn, images: [worker], node: { executor: false } };
    const first = await openKernel(options);
    const pid = await first.processes.spawn({ id: 'main', image: 'worker' });
    expect(asked).toHaveLength(1);
    await first.shutdown();
    state.reason = 'enough';
    const again = await openKernel(options);
    expect(await again.processes.spawn({ id: 'main', image: 'worker' })).toBe(pid);
    expect(asked).toHaveLength(1);
    expect(await refusal(again.processes.spawn({ id: 'other', image: 'worker' }))).toMatchObject({
      code: 'SPAWN_REFUSED',
    });
  });

  it('is not asked when an answered spawn is replayed', async () => {
    const { asked, beforeSpawn } = policy();
    const store = await newStore();
    const image = (hold: Promise<unknown>) =>
      defineImage({
        name: 'parent',
        run: async (ctx) => {
          const child = await ctx.spawnChild({ image: 'worker' });
          await ctx.step('reached', () => null);
          await hold;
          return child;
        },
      });
    const kernel = await openKernel({ store, beforeSpawn, images: [worker, image(new Promise(() => undefined))] });
    const pid = await kernel.processes.spawn({ image: 'parent' });
    await new Promise<void>((resolve) => {
      kernel.events.on('step.completed', () => resolve());
    });
    await kernel.shutdown({ graceMs: 0 });
    const again = await openKernel({ store, beforeSpawn, images: [worker, image(Promise.resolve())] });
    await again.processes.result(pid);
    expect(asked.filter(({ image: name }) => name === 'worker@1')).toHaveLength(1);
  });

  it('cannot change what is spawned', async () => {
    const beforeSpawn = (facts: SpawnFacts) => {
      Object.assign(facts.args as object, { n: 2 });
      Object.assign(facts.labels, { team: 'b' });
    };
    const { kernel } = await kernelFixture({ beforeSpawn });
    const pid = await kernel.processes.spawn({ args: { n: 1 }, labels: { team: 'a' } });
    expect(await kernel.processes.get(pid)).toMatchObject({ args: { n: 1 }, labels: { team: 'a' } });
  });

  it('bounds the reason, whatever is thrown', async () => {
    const thrown: unknown[] = ['as text', new Error('x'.repeat(10_000)), undefined, Object.create(null)];
    const beforeSpawn = () => {
      throw thrown.shift();
    };
    const { kernel, refused } = await kernelFixture({ beforeSpawn });
    expect(await refused(() => kernel.processes.spawn({}))).toMatchObject({ facts: { reason: 'as text' } });
    const { facts } = await refused(() => kernel.processes.spawn({}));
    expect((facts as { reason: string }).reason).toHaveLength(1_000);
    expect(await refused(() => kernel.processes.spawn({}))).toMatchObject({ code: 'SPAWN_REFUSED' });
    expect(await refused(() => kernel.processes.spawn({}))).toMatchObject({ code: 'SPAWN_REFUSED' });
  });

  it('is a function', async () => {
    const refused = await refusal(createKernel({ beforeSpawn: 'never' } as unknown as KernelOptions));
    expect(refused).toMatchObject({ code: 'INVALID_INPUT', facts: { path: 'options.beforeSpawn' } });
  });
});
