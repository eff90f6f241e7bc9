import { describe, expect, it } from 'vitest';
import {
  defineImage,
  defineTool,
  type Effect,
  type JsonValue,
  type Kernel,
  type KernelError,
  RunEnded,
  type Syscalls,
} from '../../src/index.js';
import { gate, pollUntil } from '../support/gate.js';
import { newStore, openKernel } from '../support/kernel.js';
import { manualClock } from '../support/kernel-fixture.js';
import { runningProcess } from '../support/running-process.js';

describe('pause', () => {
  it('holds a body at its next call, and resume lets it go on', async () => {
    const first = gate();
    const done: string[] = [];
    const { kernel, pid } = await runningProcess(async (ctx) => {
      await ctx.step('first', () => first.opened);
      done.push('first');
      await ctx.step('second', () => done.push('second'));
      return done;
    });
    await pollUntil(async () => (await kernel.events.list({ pid, types: ['step.started'] })).items.length === 1);
    await kernel.processes.pause(pid);
    first.open();
    await pollUntil(() => done.length === 1);
    await runAnotherProcess(kernel);
    expect({ done, status: (await kernel.processes.get(pid)).status }).toEqual({ done: ['first'], status: 'paused' });
    await kernel.processes.resume(pid);
    expect(await kernel.processes.result(pid)).toMatchObject({ status: 'exited', value: ['first', 'second'] });
  });

  it('holds across a restart, and the body goes on where it was', async () => {
    const store = await newStore();
    const done: string[] = [];
    const first = gate();
    const image = defineImage({
      name: 'body',
      run: async (ctx) => {
        await ctx.step('first', async () => {
          done.push('first');
          await first.opened;
        });
        await ctx.step('second', () => void done.push('second'));
      },
    });
    const kernel = await openKernel({ store, images: [image] });
    const pid = await kernel.processes.spawn({ image: 'body' });
    await pollUntil(() => done.length === 1);
    await kernel.processes.pause(pid);
    first.open();
    await pollUntil(async () => (await kernel.events.list({ pid, types: ['step.completed'] })).items.length === 1);
    await kernel.shutdown();
    const again = await openKernel({ store, images: [image] });
    await again.idle({ timeoutMs: 5_000 });
    expect((await again.processes.get(pid)).status).toBe('paused');
    await again.processes.resume(pid);
    await again.processes.result(pid);
    expect(done).toEqual(['first', 'second']);
  });

  it('does not lose a wake that comes meanwhile', async () => {
    const child = gate();
    const { kernel, pid } = await runningProcess(
      async (ctx) => {
        const { value } = await ctx.wait(await ctx.spawnChild({ image: 'child' }));
        return value ?? null;
      },
      async () => {
        await child.opened;
        return 'from the child';
      },
    );
    await pollUntil(async () => (await kernel.processes.get(pid)).status === 'waiting');
    await kernel.processes.signal(pid, 'pause', { tree: false });
    child.open();
    const [{ pid: childPid } = { pid: '' }] = await kernel.processes.children(pid);
    await kernel.processes.result(childPid);
    await runAnotherProcess(kernel);
    expect((await kernel.processes.get(pid)).status).toBe('paused');
    await kernel.processes.resume(pid);
    expect(await kernel.processes.result(pid)).toMatchObject({ value: 'from the child' });
  });
});

describe('cancel', () => {
  it('reaches a body through its signal, which may still say what it has', async () => {
    const started = gate();
    const { kernel, pid } = await runningProcess(async (ctx) => {
      started.open();
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
      return { reason: (ctx.signal.reason as KernelError).code };
    });
    await started.opened;
    await kernel.processes.cancel(pid, 'enough');
    expect(await kernel.processes.result(pid)).toMatchObject({ status: 'exited', value: { reason: 'CANCELLED' } });
  });

  it('ends a body that throws with the stored reason', async () => {
    const { kernel, pid } = await runningProcess(async (ctx) => {
      await ctx.sleep(60_000);
    });
    await pollUntil(async () => (await kernel.processes.get(pid)).status === 'waiting');
    await kernel.processes.cancel(pid, 'enough');
    expect(await kernel.processes.result(pid)).toMatchObject({
      status: 'killed',
      outcome: { kind: 'cancelled', reason: 'enough', by: 'host' },
    });
  });

  it('lets calls through until the grace is over, but nothing new and nothing that waits', async () => {
    const started = gate();
    const { kernel, pid } = await runningProcess(async (ctx) => {
      started.open();
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
      const codeOf = (call: Promise<unknown>) =>
        call.then(
          () => 'done',
          (error: KernelError) => error.code,
        );
      return [
        await codeOf(ctx.step('go on', () => 1)),
        await codeOf(ctx.step('tidy up', () => 1, { cleanup: true })),
        await codeOf(ctx.spawnChild({})),
        await codeOf(ctx.sleep(60_000)),
      ];
    });
    await started.opened;
    await kernel.processes.cancel(pid);
    expect((await kernel.processes.result(pid)).value).toEqual(['CANCELLED', 'done', 'TREE_STOPPING', 'CANCELLED']);
  });

  it('fences a body that ignores it when the grace is over, and the host goes on', async () => {
    const late = gate();
    const codes: string[] = [];
    const { kernel, pid } = await runningProcess(async (ctx) => {
      await late.opened;
      await ctx.step('too late', () => 1).catch((error: KernelError) => codes.push(error.code));
    });
    await pollUntil(async () => (await kernel.processes.get(pid)).status === 'running');
    await kernel.processes.signal(pid, 'cancel', { graceMs: 50 });
    expect(await kernel.processes.result(pid)).toMatchObject({ status: 'killed', outcome: { kind: 'cancelled' } });
    await kernel.idle({ timeoutMs: 5_000 });
    late.open();
    await pollUntil(() => codes.length === 1);
    expect(codes).toEqual(['PROCESS_TERMINATED']);
  });
});

describe('exit and exec', () => {
  it('end the run with their commit: whatever the body does then is refused', async () => {
    const seen: unknown[] = [];
    const { kernel, pid } = await runningProcess(async (ctx) => {
      await ctx.exit({ result: 'early' }).catch((error: unknown) => seen.push(error instanceof RunEnded));
      await ctx.step('later', () => seen.push('ran')).catch((error: KernelError) => seen.push(error.code));
      return 'late';
    });
    expect(await kernel.processes.result(pid)).toMatchObject({ status: 'exited', value: 'early' });
    await pollUntil(() => seen.length === 2);
    expect(seen[0]).toBe(true);
    expect(['RUN_ENDED', 'PROCESS_TERMINATED']).toContain(seen[1]);
  });

  it('of another image run that with an empty journal', async () => {
    const { kernel, pid } = await runningProcess(
      async (ctx) => {
        await ctx.step('only once', () => 'first');
        await ctx.exec({ image: 'child', args: { n: 7 } });
      },
      async (ctx) => [await ctx.step('only once', () => 'second'), ctx.args],
    );
    expect(await kernel.processes.result(pid)).toMatchObject({ value: ['second', { n: 7 }] });
    expect(await kernel.processes.get(pid)).toMatchObject({ image: 'child@1', generation: 2, attempt: 1 });
  });

  it('of a host end the run with LEASE_LOST', async () => {
    const late = gate();
    const codes: string[] = [];
    const { kernel, pid } = await runningProcess(
      async (ctx) => {
        await late.opened;
        await ctx.step('stale', () => 1).catch((error: KernelError) => codes.push(error.code));
      },
      async () => 'new program',
    );
    await pollUntil(async () => (await kernel.processes.get(pid)).status === 'running');
    await kernel.processes.exec(pid, { image: 'child' });
    expect(await kernel.processes.result(pid)).toMatchObject({ value: 'new program' });
    late.open();
    await pollUntil(() => codes.length === 1);
    expect(codes).toEqual(['LEASE_LOST']);
  });

  it('starting a process that has ended again is refused', async () => {
    const { kernel, pid } = await runningProcess(async () => 1);
    await kernel.processes.result(pid);
    await expect(kernel.processes.exec(pid, { image: 'body' })).rejects.toMatchObject({ code: 'PROCESS_TERMINATED' });
    expect(await kernel.processes.resume(pid)).toMatchObject({ alreadyTerminal: [pid], delivered: [] });
  });
});

describe('a retry policy', () => {
  it('starts a body that failed again, after a durable wait, over its journal', async () => {
    const store = await newStore();
    const clock = manualClock();
    const log: string[] = [];
    const image = defineImage({
      name: 'body',
      retry: { attempts: 3, baseMs: 60_000, factor: 1 },
      run: async (ctx) => {
        await ctx.step('once', () => void log.push('once'));
        log.push(`attempt ${ctx.attempt}`);
        await ctx.step('flaky', () => {
          if (ctx.attempt < 3) throw new Error('not yet');
        });
        return ctx.attempt;
      },
    });
    const kernel = await openKernel({ store, clock, images: [image] });
    const pid = await kernel.processes.spawn({ image: 'body' });
    await pollUntil(async () => (await kernel.processes.get(pid)).status === 'waiting');
    expect(await kernel.processes.get(pid)).toMatchObject({ attempt: 2, wait: { kind: 'timer', what: 'retry' } });
    await kernel.shutdown();
    const again = await openKernel({ store, clock, images: [image] });
    clock.advance(60_000);
    await pollUntil(async () => (await again.processes.get(pid)).attempt === 3);
    clock.advance(60_000);
    expect(await again.processes.result(pid)).toMatchObject({ status: 'exited', value: 3 });
    expect(log).toEqual(['once', 'attempt 1', 'attempt 2', 'attempt 3']);
  });

  it('that is used up leaves the process failed with the last error', async () => {
    let runs = 0;
    const image = defineImage({
      name: 'body',
      retry: { attempts: 3, baseMs: 1 },
      run: async () => {
        throw new Error(`failure ${++runs}`);
      },
    });
    const kernel = await openKernel({ images: [image] });
    const pid = await kernel.processes.spawn({ image: 'body' });
    expect(await kernel.processes.result(pid)).toMatchObject({ status: 'failed', message: 'failure 3' });
    expect(await kernel.processes.get(pid)).toMatchObject({ attempt: 3 });
  });

  it('does not try again what it calls permanent', async () => {
    let runs = 0;
    const image = defineImage({
      name: 'body',
      retry: { attempts: 3, baseMs: 1, permanent: (error) => (error as Error).message === 'hopeless' },
      run: async () => {
        runs++;
        throw new Error('hopeless');
      },
    });
    const kernel = await openKernel({ images: [image] });
    const pid = await kernel.processes.spawn({ image: 'body' });
    expect(await kernel.processes.result(pid)).toMatchObject({ status: 'failed', message: 'hopeless' });
    expect(runs).toBe(1);
  });

  it('can be cancelled while it waits', async () => {
    const image = defineImage({
      name: 'body',
      retry: { attempts: 3, baseMs: 60_000 },
      run: async () => {
        throw new Error('again');
      },
    });
    const kernel = await openKernel({ images: [image] });
    const pid = await kernel.processes.spawn({ image: 'body' });
    await pollUntil(async () => (await kernel.processes.get(pid)).status === 'waiting');
    await kernel.processes.cancel(pid);
    expect(await kernel.processes.result(pid)).toMatchObject({ status: 'killed', outcome: { kind: 'cancelled' } });
  });
});

describe('shutdown', () => {
  it('ends within its grace, leaves what can be run again resumable, and abandons what never runs twice', async () => {
    const store = await newStore();
    const stuck = () => new Promise<never>(() => undefined);
    const images = [
      defineImage({ name: 'waiting', run: async (ctx) => void (await ctx.sleep(1_000_000)) }),
      defineImage({ name: 'stuck', run: stuck }),
      defineImage({ name: 'never twice', recovery: 'fail', run: stuck }),
    ].map((image) => ({ ...image, name: image.name.replace(' ', '-') }));
    const kernel = await openKernel({ store, images });
    const waiting = await kernel.processes.spawn({ image: 'waiting' });
    const stuckPid = await kernel.processes.spawn({ image: 'stuck' });
    const never = await kernel.processes.spawn({ image: 'never-twice' });
    await pollUntil(async () => (await kernel.processes.get(waiting)).status === 'waiting');
    await pollUntil(async () => (await kernel.processes.get(never)).status === 'running');
    const from = Date.now();
    const report = await kernel.shutdown({ graceMs: 200 });
    expect(Date.now() - from).toBeLessThan(4_000);
    expect(report).toMatchObject({ abandoned: [never], stopped: [] });
    expect([...report.released].sort()).toEqual([waiting, stuckPid].sort());
    expect([...report.fenced].sort()).toEqual([stuckPid, never].sort());
    const again = await openKernel({ store, node: { executor: false } });
    expect(await again.processes.get(waiting)).toMatchObject({ status: 'runnable' });
    expect(await again.processes.get(never)).toMatchObject({
      status: 'abandoned',
      outcome: { kind: 'abandoned', reason: 'owner_lost', evidence: { kind: 'owner_lost', reason: 'shutdown' } },
    });
  });

  it('is not the outcome of a body that throws because of it', async () => {
    const store = await newStore();
    const started = gate();
    const image = (run: (ctx: Syscalls) => Promise<JsonValue>) => defineImage({ name: 'body', run });
    const aborted = image(async (ctx) => {
      started.open();
      await new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)));
      return 'never';
    });
    const kernel = await openKernel({ store, images: [aborted] });
    const pid = await kernel.processes.spawn({ image: 'body' });
    await started.opened;
    expect(await kernel.shutdown()).toMatchObject({ released: [pid], fenced: [] });
    const again = await openKernel({ store, images: [image(async (ctx) => ctx.attempt)] });
    expect(await again.processes.result(pid)).toMatchObject({ status: 'exited', value: 1 });
  });

  it('lets a step that is under way be done, while the other branches of the body begin nothing new', async () => {
    const store = await newStore();
    const sending = gate();
    const sent: string[] = [];
    const begun: string[] = [];
    const image = (isFirst: boolean) =>
      defineImage({
        name: 'body',
        run: async (ctx) => {
          const send = async () => {
            sent.push('mail');
            if (isFirst) await sending.opened;
          };
          const other = async () => {
            if (isFirst) await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
            await ctx.step('other', () => void begun.push(isFirst ? 'in the first run' : 'in the second'));
          };
          await Promise.all([ctx.step('send', send, { effect: 'once' }), other()]);
          return 'sent';
        },
      });
    const kernel = await openKernel({ store, images: [image(true)] });
    const pid = await kernel.processes.spawn({ image: 'body' });
    await pollUntil(() => sent.length === 1);
    setTimeout(() => sending.open(), 50);
    expect(await kernel.shutdown()).toMatchObject({ released: [pid], fenced: [] });
    const again = await openKernel({ store, images: [image(false)] });
    expect(await again.processes.result(pid)).toMatchObject({ value: 'sent' });
    expect({ sent, begun }).toEqual({ sent: ['mail'], begun: ['in the second'] });
  });

  it('is not the answer of a step, or of a tool, that is given up because of it: they are made again', async () => {
    const store = await newStore();
    const tried: string[] = [];
    const aborted = (signal: AbortSignal) =>
      new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    const options = (isFirst: boolean) => {
      const patient = (name: string, effect: Effect) =>
        defineTool({
          name,
          description: 'Waits.',
          effect,
          input: {},
          run: (_args, { signal }) => {
            tried.push(name);
            return isFirst ? aborted(signal) : 'done';
          },
        });
      const body = defineImage({
        name: 'body',
        run: (ctx) =>
          Promise.all([
            ctx.step('step', () => {
              tried.push('step');
              return isFirst ? aborted(ctx.signal) : 'done';
            }),
            ctx.tools.call('again'),
            ctx.tools.call('send').catch((error) => {
              if (ctx.signal.aborted) throw error;
              return (error as KernelError).code;
            }),
          ]),
      });
      return { store, images: [body], tools: [patient('again', 'idempotent'), patient('send', 'once')] };
    };
    const kernel = await openKernel(options(true));
    const pid = await kernel.processes.spawn({
      image: 'body',
      capabilities: [{ resource: 'tool:**', rights: ['call'] }],
    });
    await pollUntil(() => tried.length === 3);
    expect(await kernel.shutdown()).toMatchObject({ released: [pid], fenced: [] });
    const again = await openKernel(options(false));
    expect(await again.processes.result(pid)).toMatchObject({ value: ['done', 'done', 'OUTCOME_UNKNOWN'] });
    expect(tried.sort()).toEqual(['again', 'again', 'send', 'step', 'step']);
  });

  it('takes what a body still returns, or exits with, as its outcome', async () => {
    const started = gate();
    const { kernel, pid } = await runningProcess(async (ctx) => {
      started.open();
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
      return 'just in time';
    });
    await started.opened;
    const ended = kernel.processes.result(pid);
    // A read that is begun after that one is done after its first look.
    await kernel.processes.get(pid);
    expect(await kernel.shutdown()).toMatchObject({ released: [], fenced: [] });
    expect(await ended).toMatchObject({ status: 'exited', value: 'just in time' });
  });

  it('refuses a grace that is no duration, and shuts nothing down', async () => {
    const kernel = await openKernel();
    await expect(kernel.shutdown({ graceMs: -1 })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    await kernel.processes.spawn({});
  });
});

describe('idle', () => {
  it('resolves when nothing is runnable or running, and not before', async () => {
    const hold = gate();
    const { kernel, pid } = await runningProcess(async () => {
      await hold.opened;
      return 1;
    });
    await expect(kernel.idle({ timeoutMs: 50 })).rejects.toMatchObject({ code: 'WAIT_TIMEOUT' });
    hold.open();
    await kernel.idle();
    expect((await kernel.processes.get(pid)).status).toBe('exited');
  });
});

/** Resolves when a process that is spawned now has made a call and ended: a run that may go on has gone on by then. */
async function runAnotherProcess(kernel: Kernel): Promise<void> {
  const image = defineImage({ name: 'another', run: async (ctx) => void (await ctx.step('a call', () => 1)) });
  kernel.images.register(image);
  await kernel.processes.result(await kernel.processes.spawn({ image: 'another' }));
}
