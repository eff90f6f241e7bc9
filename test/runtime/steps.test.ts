import { describe, expect, it, onTestFinished } from 'vitest';
import { AuditRepository } from '../../src/audit/audit-repository.js';
import { defineImage, type Image, KernelError, type Syscalls } from '../../src/index.js';
import { gate, pollUntil } from '../support/gate.js';
import { newStore, openKernel } from '../support/kernel.js';
import { manualClock } from '../support/kernel-fixture.js';
import { FailingRepositories } from '../support/storage/failing-repositories.js';
import { setStoreMode, storeModeOfEnvironment } from '../support/store-modes.js';

describe('a step', () => {
  it('that is completed never runs again: a rerun gets the stored result', async () => {
    const store = await newStore();
    const done: string[] = [];
    const image = (hold: Promise<unknown>) =>
      defineImage({
        name: 'worker',
        run: async (ctx) => {
          const first = await ctx.step('first', () => `first ${done.push('first')}`);
          await hold;
          const second = await ctx.step('second', () => `second ${done.push('second')}`);
          return [first, second];
        },
      });
    const kernel = await openKernel({ store, images: [image(new Promise(() => undefined))] });
    const pid = await kernel.processes.spawn({ image: 'worker' });
    await pollUntil(() => done.length === 1);
    await pollUntil(async () => (await kernel.events.list({ pid, types: ['step.completed'] })).items.length === 1);
    expect(await kernel.shutdown({ graceMs: 50 })).toMatchObject({ released: [pid], fenced: [pid] });

    const again = await openKernel({ store, images: [image(Promise.resolve())] });
    expect(await again.processes.result(pid)).toMatchObject({ value: ['first 1', 'second 2'] });
    expect(done).toEqual(['first', 'second']);
  });

  it('gives its body JSON as a rerun would get it', async () => {
    const seen: unknown[] = [];
    await runOnce(async (ctx) => {
      seen.push(await ctx.step('object', () => ({ a: 1, b: undefined })));
      seen.push(await ctx.step('nothing', () => undefined));
      seen.push(await ctx.step('null', () => null));
    });
    expect(seen).toEqual([{ a: 1 }, undefined, null]);
  });

  it('whose result is not JSON fails with INVALID_INPUT', async () => {
    const { outcome } = await runOnce((ctx) => ctx.step('bad', () => () => 1) as Promise<never>);
    expect(outcome).toMatchObject({ kind: 'failed', reason: 'INVALID_INPUT' });
  });

  it('that fails is not tried again without a policy, and rethrows what it threw', async () => {
    let tries = 0;
    const { value } = await runOnce(async (ctx) => {
      const failing = ctx.step('failing', () => {
        tries++;
        throw Object.assign(new TypeError('no'), { code: 'E_NO' });
      });
      return failing.catch((error: Error & { code: string }) => [error.name, error.message, error.code]);
    });
    expect({ value, tries }).toEqual({ value: ['TypeError', 'no', 'E_NO'], tries: 1 });
  });

  it('with a policy is tried again, with its attempts in the events', async () => {
    const kernel = await openKernel({ images: [flaky(2, { attempts: 3, baseMs: 10 })] });
    const pid = await kernel.processes.spawn({ image: 'flaky' });
    expect(await kernel.processes.result(pid)).toMatchObject({ value: 3 });
    const { items } = await kernel.events.list({ pid, types: ['step.started', 'step.failed', 'step.completed'] });
    expect(items.map(({ type, data }) => [type, (data as { attempt: number }).attempt])).toEqual([
      ['step.started', 1],
      ['step.failed', 1],
      ['step.started', 2],
      ['step.failed', 2],
      ['step.started', 3],
      ['step.completed', 3],
    ]);
  });

  it('with a policy gives up after its attempts, and at once for what is permanent', async () => {
    const kernel = await openKernel({
      images: [
        flaky(9, { attempts: 2, baseMs: 1 }),
        { ...flaky(9, { attempts: 5, baseMs: 1, permanent: () => true }), name: 'permanent' },
      ],
    });
    const spent = await kernel.processes.spawn({ image: 'flaky' });
    expect(await kernel.processes.result(spent)).toMatchObject({ status: 'failed', message: 'try 2' });
    const permanent = await kernel.processes.spawn({ image: 'permanent' });
    expect(await kernel.processes.result(permanent)).toMatchObject({ status: 'failed', message: 'try 1' });
  });

  it('that takes too long fails with STEP_TIMEOUT, and what it calls later is refused', async () => {
    const late = gate();
    const refused: string[] = [];
    const { value } = await runOnce(async (ctx) => {
      const slow = ctx.step(
        'slow',
        async () => {
          await late.opened;
          await ctx.spawnChild({}).catch((error: KernelError) => refused.push(error.code));
        },
        { timeoutMs: 20 },
      );
      const code = await slow.catch((error: KernelError) => error.code);
      late.open();
      await ctx.step('later', () => pollUntil(() => refused.length === 1));
      return code;
    });
    expect({ value, refused }).toEqual({ value: 'STEP_TIMEOUT', refused: ['STEP_OVER'] });
  });

  it('makes its calls once, though it is tried again', async () => {
    let tries = 0;
    const { value, kernel, pid } = await runOnce(async (ctx) =>
      ctx.step(
        'spawning',
        async () => {
          const child = await ctx.spawnChild({ image: 'base' });
          if (++tries < 3) throw new Error('again');
          return child;
        },
        { retry: { attempts: 3, baseMs: 1 } },
      ),
    );
    const children = await kernel.processes.children(pid);
    expect({ tries, children: children.map((child) => child.pid) }).toEqual({ tries: 3, children: [value] });
  });

  it('that failed by a call can make that call again', async () => {
    let tries = 0;
    const { value } = await runOnce(async (ctx) =>
      ctx.step(
        'failing inside',
        () =>
          ctx.step('inner', () => {
            if (++tries < 2) throw new Error('again');
            return tries;
          }),
        { retry: { attempts: 3, baseMs: 1 } },
      ),
    );
    expect(value).toBe(2);
  });

  it('whose call was not committed makes that call in its next attempt', async () => {
    const failing = new FailingRepositories();
    let tries = 0;
    const run = (ctx: Syscalls) =>
      ctx.step(
        'spawning',
        async () => {
          // Records are written last: everything that the unit of the call did is undone with its group.
          if (++tries === 1) failing.arm(1, 'before', AuditRepository);
          return ctx.spawnChild({ image: 'base' }).catch((error: KernelError) => {
            throw new Error(`refused with ${error.code}`);
          });
        },
        { retry: { attempts: 3, baseMs: 1 } },
      );
    const image = defineImage({ name: 'body', run });
    const kernel = await openKernel({ images: [image], modules: [failing.module()] });
    const pid = await kernel.processes.spawn({ image: 'body' });
    const { value } = await kernel.processes.result(pid);
    expect({ tries, failed: failing.failed }).toEqual({ tries: 2, failed: expect.any(String) });
    expect((await kernel.processes.children(pid)).map((child) => child.pid)).toEqual([value]);
  });

  it('whose calls the store has run twice gets one answer for each in its next attempt', async () => {
    setStoreMode('units-twice');
    onTestFinished(() => setStoreMode(storeModeOfEnvironment()));
    let tries = 0;
    const { value, kernel, pid } = await runOnce(async (ctx) =>
      ctx.step(
        'spawning',
        async () => {
          const first = await ctx.spawnChild({ image: 'base' });
          if (++tries < 2) throw new Error('again');
          return [first, await ctx.spawnChild({ image: 'base' })];
        },
        { retry: { attempts: 3, baseMs: 1 } },
      ),
    );
    const children = await kernel.processes.children(pid);
    expect({ tries, children: children.map((child) => child.pid) }).toEqual({ tries: 2, children: value });
  });

  it('takes only a name and options that it knows', async () => {
    const { value } = await runOnce(async (ctx) => {
      const codes: string[] = [];
      const note = (error: KernelError) => codes.push(error.code);
      await ctx.step('', () => 1).catch(note);
      await ctx.step('a\nb', () => 1).catch(note);
      await ctx.step('x', () => 1, { effect: 'twice' as never }).catch(note);
      await ctx.step('x', () => 1, { retry: { attempts: 0 } }).catch(note);
      return codes;
    });
    expect(value).toEqual(['INVALID_INPUT', 'INVALID_INPUT', 'INVALID_INPUT', 'INVALID_INPUT']);
  });
});

describe('a body that is run again', () => {
  it('with concurrent branches interleaves them as in the first run', async () => {
    const store = await newStore();
    const orders: string[][] = [];
    const image = (isLast: boolean) =>
      defineImage({
        name: 'branches',
        run: async (ctx) => {
          const order: string[] = [];
          orders.push(order);
          const branch = async (name: string, ms: number) => {
            for (const round of [1, 2, 3]) {
              await ctx.step(
                `${name}${round}`,
                () => new Promise<void>((resolve) => setTimeout(resolve, isLast ? 0 : ms)),
              );
              order.push(`${name}${round}`);
            }
          };
          await Promise.all([branch('slow', 25), branch('fast', 5)]);
          if (!isLast) await new Promise(() => undefined);
          return order;
        },
      });
    const kernel = await openKernel({ store, images: [image(false)] });
    const pid = await kernel.processes.spawn({ image: 'branches' });
    await pollUntil(() => orders[0]?.length === 6);
    await kernel.shutdown({ graceMs: 0 });
    const again = await openKernel({ store, images: [image(true)] });
    const { value } = await again.processes.result(pid);
    expect(value).toEqual(orders[0]);
  });

  it('finds the same children and their results, and its failures again', async () => {
    const store = await newStore();
    const seen: unknown[] = [];
    const child = defineImage({ name: 'child', run: async () => ({ from: 'child' }) });
    const parent = (hold: Promise<unknown>) =>
      defineImage({
        name: 'parent',
        run: async (ctx) => {
          const pid = await ctx.spawnChild({ image: 'child' });
          const { value } = await ctx.wait(pid);
          const code = await ctx
            .wait('p_nobody')
            .catch((error: KernelError) => [error instanceof KernelError, error.code]);
          const noted = await ctx.memory.create({
            type: 'observation',
            payload: { value: value ?? null },
            name: 'noted',
          });
          seen.push({ pid, value, code, noted: noted.id });
          await hold;
          return (await ctx.memory.read(noted)).payload;
        },
      });
    const kernel = await openKernel({ store, images: [child, parent(new Promise(() => undefined))] });
    const pid = await kernel.processes.spawn({ image: 'parent' });
    await pollUntil(() => seen.length === 1);
    await kernel.shutdown({ graceMs: 0 });
    const again = await openKernel({ store, images: [child, parent(Promise.resolve())] });
    expect(await again.processes.result(pid)).toMatchObject({ value: { value: { from: 'child' } } });
    expect(seen[1]).toEqual(seen[0]);
    expect(seen[0]).toMatchObject({ code: [true, 'NOT_A_CHILD'] });
    expect(await again.processes.children(pid)).toHaveLength(1);
  });

  it('does not repeat what may happen only once: its outcome is unknown, and the body decides', async () => {
    const store = await newStore();
    let sent = 0;
    const image = (hold: Promise<unknown>) =>
      defineImage({
        name: 'mailer',
        run: async (ctx) => {
          const send = async () => {
            sent++;
            await hold;
          };
          try {
            await ctx.step('send', send, { effect: 'once' });
            return 'sent';
          } catch (error) {
            return (error as KernelError).code;
          }
        },
      });
    const kernel = await openKernel({ store, images: [image(new Promise(() => undefined))] });
    const pid = await kernel.processes.spawn({ image: 'mailer' });
    await pollUntil(() => sent === 1);
    await kernel.shutdown({ graceMs: 0 });
    const again = await openKernel({ store, images: [image(Promise.resolve())] });
    expect(await again.processes.result(pid)).toMatchObject({ value: 'OUTCOME_UNKNOWN' });
    expect(sent).toBe(1);
  });

  it('sleeps no longer than its first run asked for', async () => {
    const store = await newStore();
    const clock = manualClock();
    const image = defineImage({ name: 'sleeper', run: async (ctx) => void (await ctx.sleep(3_600_000)) });
    const kernel = await openKernel({ store, clock, images: [image] });
    const pid = await kernel.processes.spawn({ image: 'sleeper' });
    await pollUntil(async () => (await kernel.processes.get(pid)).status === 'waiting');
    expect((await kernel.processes.get(pid)).wait).toMatchObject({ kind: 'timer', deadline: expect.any(Number) });
    await kernel.shutdown();
    clock.advance(3_599_999);
    const again = await openKernel({ store, clock, images: [image] });
    await pollUntil(async () => (await again.processes.get(pid)).status === 'waiting');
    clock.advance(1);
    expect(await again.processes.result(pid)).toMatchObject({ status: 'exited' });
    const { createdAt, exitedAt = 0 } = await again.processes.get(pid);
    expect(exitedAt - createdAt).toBe(3_600_000);
  });
});

/** Runs a body on a kernel of its own to its end. */
async function runOnce(run: (ctx: Syscalls) => Promise<unknown>) {
  const kernel = await openKernel({ images: [defineImage({ name: 'body', run: run as never })] });
  const pid = await kernel.processes.spawn({ image: 'body' });
  return { kernel, ...(await kernel.processes.result(pid)) };
}

function flaky(failures: number, retry: object): Image {
  return defineImage({
    name: 'flaky',
    run: async (ctx) => {
      let tries = 0;
      return ctx.step(
        'trying',
        () => {
          if (++tries <= failures) throw new Error(`try ${tries}`);
          return tries;
        },
        { retry: retry as never },
      );
    },
  });
}
