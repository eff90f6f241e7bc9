import { describe, expect, it } from 'vitest';
import { defineImage, type JsonValue, type KernelError, ObjectHandle, type Pid } from '../../src/index.js';
import { gate, pollUntil } from '../support/gate.js';
import { newStore, openKernel } from '../support/kernel.js';
import { runningProcess } from '../support/running-process.js';

describe('a body', () => {
  it('receives each message once and in order, also when it is run again', async () => {
    const store = await newStore();
    const seen: string[][] = [];
    const image = (hold: Promise<unknown>) =>
      defineImage({
        name: 'reader',
        run: async (ctx) => {
          const got: string[] = [];
          seen.push(got);
          for (let n = 0; n < 3; n++) got.push((await ctx.receive()).body as string);
          await hold;
          for (let n = 0; n < 2; n++) got.push((await ctx.receive()).body as string);
          return got;
        },
      });
    const kernel = await openKernel({ store, images: [image(new Promise(() => undefined))] });
    const root = await kernel.processes.spawn({});
    const reader = await kernel.processes.spawnChild(root, { image: 'reader' });
    for (const body of ['a', 'b', 'c', 'd']) await kernel.as(root).send(reader, body);
    await pollUntil(() => seen[0]?.length === 3);
    await kernel.shutdown({ graceMs: 0 });
    const again = await openKernel({ store, images: [image(Promise.resolve())] });
    await again.as(root).send(reader, 'e');
    expect(await again.processes.result(reader)).toMatchObject({ value: ['a', 'b', 'c', 'd', 'e'] });
  });

  it('gets the handles in a message again when it is run again', async () => {
    const store = await newStore();
    const seen: unknown[] = [];
    const image = (hold: Promise<unknown>) =>
      defineImage({
        name: 'reader',
        run: async (ctx) => {
          const { body } = await ctx.receive();
          const { report } = body as { report: ObjectHandle };
          seen.push(ObjectHandle.is(report));
          await hold;
          return (await ctx.memory.read(report)).payload;
        },
      });
    const kernel = await openKernel({ store, images: [image(new Promise(() => undefined))] });
    const root = await kernel.processes.spawn({});
    const reader = await kernel.processes.spawnChild(root, { image: 'reader' });
    const report = await kernel.as(root).memory.create({ type: 'artifact', payload: { text: 'all is well' } });
    await kernel.as(root).send(reader, { report });
    await pollUntil(() => seen.length === 1);
    await kernel.shutdown({ graceMs: 0 });
    const again = await openKernel({ store, images: [image(Promise.resolve())] });
    expect(await again.processes.result(reader)).toMatchObject({ value: { text: 'all is well' } });
    expect(seen).toEqual([true, true]);
  });

  it('is shown as waiting for a message, and woken in the commit of its sending', async () => {
    const { kernel, pid } = await runningProcess(async (ctx) => (await ctx.receive()).body as JsonValue);
    await pollUntil(async () => (await kernel.processes.get(pid)).status === 'waiting');
    expect((await kernel.processes.get(pid)).wait).toMatchObject({ kind: 'message', what: '' });
    const child = await kernel.processes.spawnChild(pid, {});
    await kernel.as(child).send(pid, 'hello');
    const { items } = await kernel.events.list({ pid, types: ['message.sent', 'process.woken'] });
    expect(items.map(({ type }) => type)).toEqual(['message.sent', 'process.woken']);
    expect(await kernel.processes.result(pid)).toMatchObject({ value: 'hello' });
  });

  it('gets two signals that were sent during one wait, in order, also across a restart', async () => {
    const store = await newStore();
    const images = [
      defineImage({
        name: 'listener',
        run: async (ctx) => {
          const first = await ctx.waitSignal('step');
          await ctx.sleep(50);
          return [first, await ctx.waitSignal('user.step')];
        },
      }),
    ];
    const kernel = await openKernel({ store, images });
    const pid = await kernel.processes.spawn({ image: 'listener' });
    await pollUntil(async () => (await kernel.processes.get(pid)).wait?.kind === 'signal');
    await kernel.processes.signal(pid, 'user.step', { payload: 1 });
    await kernel.processes.signal(pid, 'user.step', { payload: 2 });
    await kernel.shutdown();
    const again = await openKernel({ store, images });
    expect(await again.processes.result(pid)).toMatchObject({ value: [1, 2] });
  });

  it('that would wait for one that waits for it is refused, with the circle named', async () => {
    let tellParent: (pid: Pid) => void = () => undefined;
    const waitingParent = new Promise<Pid>((resolve) => {
      tellParent = resolve;
    });
    const { kernel, pid } = await runningProcess(
      async (ctx) => {
        const child = await ctx.spawnChild({ image: 'child' });
        return (await ctx.wait(child)).value ?? null;
      },
      async (ctx) => {
        const parent = await ctx.step('parent', () => waitingParent);
        try {
          await ctx.receive({ from: parent });
        } catch (error) {
          return [(error as KernelError).code, (error as KernelError).facts.cycle as Pid[]];
        }
        return 'received';
      },
    );
    await pollUntil(async () => (await kernel.processes.get(pid)).wait?.kind === 'child');
    tellParent(pid);
    const [child] = await childrenOf(kernel, pid);
    expect((await kernel.processes.result(pid)).value).toEqual(['WAIT_CYCLE', [child, pid]]);
  });

  it('waits no longer than it was given, and that is its answer in a rerun too', async () => {
    const store = await newStore();
    const codes: string[] = [];
    const image = (hold: Promise<unknown>) =>
      defineImage({
        name: 'patient',
        run: async (ctx) => {
          codes.push(
            await ctx.receive({ timeoutMs: 60 }).then(
              () => 'received',
              (error: KernelError) => error.code,
            ),
          );
          await hold;
          return 'done';
        },
      });
    const kernel = await openKernel({ store, images: [image(new Promise(() => undefined))] });
    const root = await kernel.processes.spawn({});
    const pid = await kernel.processes.spawnChild(root, { image: 'patient' });
    await pollUntil(() => codes.length === 1);
    await kernel.shutdown({ graceMs: 0 });
    const again = await openKernel({ store, node: { executor: false } });
    await again.as(root).send(pid, 'too late');
    await again.shutdown();
    const third = await openKernel({ store, images: [image(Promise.resolve())] });
    await third.processes.result(pid);
    expect(codes).toEqual(['WAIT_TIMEOUT', 'WAIT_TIMEOUT']);
  });

  it('waits for the answer of a person with its place given back, and goes on with it', async () => {
    const hold = gate();
    const image = defineImage({
      name: 'asker',
      run: async (ctx) => {
        await hold.opened;
        return (await ctx.capabilities.require('call', 'tool:mail', { to: 'all' })).effect;
      },
    });
    const kernel = await openKernel({ images: [image], node: { concurrency: 1 } });
    const capabilities = [{ resource: 'tool:mail', rights: ['call' as const] }];
    const pid = await kernel.processes.spawn({ image: 'asker', capabilities });
    await kernel.capabilities.ask(pid, { resource: 'tool:mail', rights: ['call'] });
    hold.open();
    await pollUntil(async () => (await kernel.processes.get(pid)).status === 'waiting');
    const [approval] = await kernel.approvals.list();
    expect((await kernel.processes.get(pid)).wait).toMatchObject({ kind: 'approval', what: approval?.id });
    await kernel.approvals.answer(approval?.id ?? '', { decision: 'once', by: 'ada' });
    expect(await kernel.processes.result(pid)).toMatchObject({ value: 'allow' });
  });
});

async function childrenOf(kernel: Awaited<ReturnType<typeof runningProcess>>['kernel'], pid: Pid): Promise<Pid[]> {
  await pollUntil(async () => (await kernel.processes.children(pid)).length > 0);
  return (await kernel.processes.children(pid)).map((row) => row.pid);
}
