import { describe, expect, it } from 'vitest';
import { defineImage, type Kernel, type Pid, type Syscalls } from '../../src/index.js';
import { RunEntryRepository } from '../../src/kernel/process/run-entry-repository.js';
import { eventually } from '../support/eventually.js';
import { gate } from '../support/gate.js';
import { newStore, openKernel, refusal } from '../support/kernel.js';
import { FailingRepositories } from '../support/storage/failing-repositories.js';
import { runsUnitsOnce } from '../support/store-modes.js';

type Body = (ctx: Syscalls) => Promise<unknown>;

function image(run: Body) {
  return defineImage({ name: 'patient', run: run as (ctx: Syscalls) => Promise<null> });
}

const never = () => new Promise<never>(() => undefined);

/** One process whose body is replaced by others, each in a kernel of its own. */
class Deployments {
  pid: Pid = '';

  private constructor(private readonly store: string) {}

  static async onNewStore(): Promise<Deployments> {
    return new Deployments(await newStore());
  }

  /** Runs `body` until it has returned, and holds its process there; then the kernel is closed. */
  async interrupt(body: Body): Promise<unknown> {
    const reached = gate();
    let value: unknown;
    const kernel = await this.open(async (ctx) => {
      value = await body(ctx);
      reached.open();
      await never();
    });
    if (this.pid === '') this.pid = await kernel.processes.spawn({ image: 'patient' });
    await reached.opened;
    await kernel.shutdown({ graceMs: 0 });
    return value;
  }

  /** Runs `body` to the end of the process. */
  async finish(body: Body): Promise<unknown> {
    const kernel = await this.open(body);
    const { value, outcome } = await kernel.processes.result(this.pid);
    await kernel.shutdown();
    return value ?? outcome;
  }

  open(body: Body): Promise<Kernel> {
    return openKernel({ store: this.store, images: [image(body)] });
  }

  async journal(): Promise<string[]> {
    const kernel = await openKernel({ store: this.store, node: { executor: false } });
    const keys = (await kernel.processes.journal(this.pid)).map(({ key }) => key);
    await kernel.shutdown();
    return keys;
  }
}

const before: Body = async (ctx) => [await ctx.step('a', () => 1), await ctx.step('b', () => 2)];
const after: Body = async (ctx) => {
  const a = await ctx.step('a', () => 1);
  return [a, (await ctx.patched('faster')) ? await ctx.step('fast b', () => 'fast') : await ctx.step('b', () => 2)];
};

describe('ctx.patched', () => {
  it('is true in a process that begins with the changed body, and in its reruns', async () => {
    const life = await Deployments.onNewStore();
    expect(await life.interrupt(after)).toEqual([1, 'fast']);
    expect(await life.journal()).toEqual(['step a #1', 'patched faster', 'step fast b #1']);
    expect(await life.interrupt(after)).toEqual([1, 'fast']);
    expect(await life.finish(after)).toEqual([1, 'fast']);
  });

  it('is false while recorded answers are left that no call has asked for', async () => {
    const life = await Deployments.onNewStore();
    await life.interrupt(before);
    expect(await life.interrupt(after)).toEqual([1, 2]);
    expect(await life.journal()).toEqual(['step a #1', 'step b #1']);
    expect(await life.finish(after)).toEqual([1, 2]);
  });

  it('is true in a process that had not got so far, and stays true', async () => {
    const life = await Deployments.onNewStore();
    await life.interrupt(async (ctx) => ctx.step('a', () => 1));
    expect(await life.interrupt(after)).toEqual([1, 'fast']);
    expect(await life.journal()).toEqual(['step a #1', 'patched faster', 'step fast b #1']);
    expect(await life.finish(after)).toEqual([1, 'fast']);
  });

  it('counts a call as asked for that is not awaited yet', async () => {
    const life = await Deployments.onNewStore();
    await life.interrupt(async (ctx) => ctx.step('a', () => 1));
    const concurrent: Body = async (ctx) => Promise.all([ctx.step('a', () => 1), ctx.patched('faster')]);
    expect(await life.finish(concurrent)).toEqual([1, true]);
  });

  it('may be left out again: a mark that is not asked for is no other way', async () => {
    for (const rest of ['once more', 'nothing'] as const) {
      const life = await Deployments.onNewStore();
      await life.interrupt(after);
      const without: Body = async (ctx) => {
        const answers = [await ctx.step('a', () => 1), await ctx.step('fast b', () => 'again')];
        return rest === 'nothing' ? answers : [...answers, await ctx.step('c', () => 3)];
      };
      const expected = rest === 'nothing' ? [1, 'fast'] : [1, 'fast', 3];
      expect(await life.interrupt(without)).toEqual(expected);
      expect(await life.finish(without)).toEqual(expected);
    }
  });

  it('and leaves what else is asked for another way', async () => {
    const life = await Deployments.onNewStore();
    await life.interrupt(after);
    const kernel = await life.open(before);
    await eventually(async () =>
      expect((await kernel.processes.get(life.pid)).wait).toMatchObject({
        kind: 'code',
        recorded: 'step fast b #1',
        asked: 'step b #1',
      }),
    );
  });

  it('in a loop answers each round as before', async () => {
    const rounds = (count: number, isPatched: boolean): Body => {
      return async (ctx) => {
        const ways: string[] = [];
        for (let round = 0; round < count; round++) {
          const isNew = isPatched && (await ctx.patched('loop'));
          ways.push(await ctx.step(isNew ? 'new' : 'old', () => (isNew ? 'new' : 'old')));
        }
        return ways;
      };
    };
    const life = await Deployments.onNewStore();
    await life.interrupt(rounds(2, false));
    expect(await life.interrupt(rounds(4, true))).toEqual(['old', 'old', 'new', 'new']);
    expect(await life.interrupt(rounds(4, true))).toEqual(['old', 'old', 'new', 'new']);
    expect(await life.finish(rounds(5, true))).toEqual(['old', 'old', 'new', 'new', 'new']);
  });

  it('has one mark of each name, whichever branch or step asks for it', async () => {
    const life = await Deployments.onNewStore();
    const body: Body = async (ctx) => [
      ...(await Promise.all([ctx.patched('x'), ctx.patched('x'), ctx.patched('y')])),
      await ctx.step('s', () => ctx.patched('x')),
    ];
    expect(await life.interrupt(body)).toEqual([true, true, true, true]);
    expect((await life.journal()).filter((key) => key.startsWith('patched')).sort()).toEqual([
      'patched x',
      'patched y',
    ]);
    expect(await life.finish(body)).toEqual([true, true, true, true]);
  });

  // In the second run of a unit nothing fails.
  it.skipIf(!runsUnitsOnce)('is no mark where it could not be written: the next call writes it', async () => {
    const failing = new FailingRepositories();
    const kernel = await openKernel({
      modules: [failing.module()],
      images: [
        image(async (ctx) => {
          failing.arm(1, 'before', RunEntryRepository);
          const first = await refusal(ctx.patched('x')).then(({ code }) => code);
          return [first, await ctx.patched('x')];
        }),
      ],
    });
    const pid = await kernel.processes.spawn({ image: 'patient' });
    expect((await kernel.processes.result(pid)).value).toEqual(['STORE_IO', true]);
    expect((await kernel.processes.journal(pid)).map(({ key }) => key)).toContain('patched x');
  });

  it('refuses what is no name', async () => {
    const life = await Deployments.onNewStore();
    const codes = await life.interrupt(async (ctx) => [
      await refusal(ctx.patched('')).then(({ code }) => code),
      await refusal(ctx.patched(7 as never)).then(({ code }) => code),
    ]);
    expect(codes).toEqual(['INVALID_INPUT', 'INVALID_INPUT']);
  });
});
