import { appendFileSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { defineImage, type KernelError } from '../../src/index.js';
import { anyCommand, commandFixture, findOsProcesses, uniqueSeconds } from '../support/command-fixture.js';
import { checkInvariants } from '../support/invariants.js';
import { newStore, openKernel, tempFolder } from '../support/kernel.js';

describe('a body', () => {
  it('runs commands, and waits without holding a place', async () => {
    const body = defineImage<{ depth: number }>({
      name: 'body',
      run: async (ctx, { depth }) => {
        if (depth > 0) {
          const delegate = [{ resource: 'command:**', rights: ['call' as const] }];
          const child = await ctx.spawnChild({ image: 'body', args: { depth: depth - 1 }, delegate });
          return (await ctx.wait(child)).value ?? null;
        }
        return (await ctx.run({ argv: ['sh', '-c', 'sleep 0.1; echo deep'] })).stdout;
      },
    });
    const { kernel, store } = await commandFixture({}, { images: [body], node: { concurrency: 1 } });
    const capabilities = [{ ...anyCommand, delegable: true, grantable: ['call' as const] }];
    const pid = await kernel.processes.spawn({ image: 'body', args: { depth: 1 }, capabilities });
    const { value, outcome } = await kernel.processes.result(pid);
    expect(value ?? outcome).toBe('deep\n');
    await checkInvariants(kernel, store);
  });

  it('that is run again finds the commands it has run, and does not run them twice', async () => {
    const workspace = tempFolder();
    let runs = 0;
    const body = defineImage({
      name: 'body',
      retry: { attempts: 2, baseMs: 1 },
      run: async (ctx) => {
        const once = await ctx.run({ argv: ['sh', '-c', 'echo ran >> log; echo once'] });
        const { pid } = await ctx.run({ argv: ['sh', '-c', 'echo ran >> log; echo behind'], background: true });
        const message = await ctx.receive({ from: pid });
        if (++runs === 1) throw new Error('try again');
        return { out: once.stdout, kind: message.kind, attempt: ctx.attempt };
      },
    });
    const { kernel, store } = await commandFixture({}, { images: [body], workspace });
    const pid = await kernel.processes.spawn({ image: 'body', capabilities: [anyCommand] });
    const { value, outcome } = await kernel.processes.result(pid);
    expect(value ?? outcome).toEqual({ out: 'once\n', kind: 'command.ended', attempt: 2 });
    expect(readFileSync(path.join(workspace, 'log'), 'utf8')).toBe('ran\nran\n');
    expect(await kernel.processes.children(pid)).toHaveLength(2);
    await checkInvariants(kernel, store);
  });

  it('whose kernel shuts down goes on with a survivor, and learns that another was lost', async () => {
    const store = await newStore();
    const workspace = tempFolder();
    const body = defineImage<{ survive: boolean; seconds: string }>({
      name: 'body',
      run: async (ctx, { survive, seconds }) => {
        appendFileSync(path.join(workspace, 'runs'), '.');
        try {
          const argv = ['sh', '-c', `echo up; sleep 1; test -e go || sleep ${seconds}`];
          return (await ctx.run({ argv, survive })).stdout;
        } catch (error) {
          return (error as KernelError).code;
        }
      },
    });
    const { kernel } = await commandFixture({}, { store, workspace, images: [body] });
    const [one, two] = [uniqueSeconds(), uniqueSeconds()];
    const spawn = (survive: boolean, seconds: string) =>
      kernel.processes.spawn({ image: 'body', args: { survive, seconds }, capabilities: [anyCommand] });
    const lost = await spawn(false, one);
    const survives = await spawn(true, two);
    const child = async (pid: string) => (await kernel.processes.children(pid))[0]?.pid ?? '';
    for (const pid of [lost, survives]) {
      await expect.poll(() => child(pid)).not.toBe('');
      await kernel.processes.waitOutput(await child(pid), 'up');
    }
    const report = await kernel.shutdown();
    expect(report.abandoned).toHaveLength(1);
    const again = await openKernel({ store, workspace, images: [body] });
    expect((await again.processes.result(lost)).value).toBe('OUTCOME_UNKNOWN');
    expect(again.recovery.adopted).toBe(1);
    const [adopted] = await again.processes.children(survives);
    await again.processes.cancel(adopted?.pid ?? '');
    // How it ended is known: somebody has ordered it.
    expect((await again.processes.result(survives)).value).toBe('up\n');
    expect([...findOsProcesses(one), ...findOsProcesses(two)]).toEqual([]);
    await checkInvariants(again, store);
  });

  it('that asks for what is no command gets a refusal, and goes on', async () => {
    const observed: unknown[] = [];
    const hostile = {
      get argv(): string[] {
        throw new Error('no');
      },
    };
    const body = defineImage({
      name: 'body',
      run: async (ctx) => {
        for (const spec of [undefined, null, 7, {}, hostile, { argv: [7] }, { argv: ['true'], cwd: '..' }]) {
          observed.push(await ctx.run(spec as never).catch((error: KernelError) => error.code));
        }
        return (await ctx.run({ argv: ['true'] })).exitCode;
      },
    });
    const { kernel } = await commandFixture({}, { images: [body] });
    const pid = await kernel.processes.spawn({ image: 'body', capabilities: [anyCommand] });
    expect((await kernel.processes.result(pid)).value).toBe(0);
    expect(observed).toEqual([...Array(6).fill('INVALID_INPUT'), 'INVALID_PATH']);
  });
});
