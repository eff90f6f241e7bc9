import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  commandImage,
  defineImage,
  defineSupervisor,
  externalImage,
  type Image,
  type ImageSpec,
  type JsonValue,
  type Kernel,
  type KernelEvent,
  ObjectHandle,
  type Pid,
} from '../../src/index.js';
import { eventually } from '../support/eventually.js';
import { newStore, openKernel, refusal } from '../support/kernel.js';
import { kernelFixture } from '../support/kernel-fixture.js';

const order = z.object({ dish: z.string(), count: z.number().default(1) });
const idle = { executor: false };

type Schemas = Pick<ImageSpec, 'messages' | 'signals'>;

/** Gathers two messages and their ids, or two signals. */
const waiter = (schemas: Schemas): Image =>
  defineImage({
    name: 'waiter',
    ...schemas,
    run: async (ctx) => [(await ctx.receive()).body, (await ctx.receive()).body] as JsonValue,
  });
const signalled = (schemas: Schemas): Image =>
  defineImage({
    name: 'signalled',
    ...schemas,
    run: async (ctx) => [await ctx.waitSignal('go'), await ctx.waitSignal('user.go')],
  });
const desk = (schemas: Schemas): Image => externalImage({ name: 'desk', ...schemas });

async function eventsOf(kernel: Kernel, type: KernelEvent['type']): Promise<KernelEvent[]> {
  return (await kernel.events.list({ types: [type] })).items;
}

describe('the schema of messages', () => {
  it('refuses to the sender what does not fit, and nothing is changed', async () => {
    const { kernel, refused } = await kernelFixture({ images: [desk({ messages: order })] });
    const root = await kernel.processes.spawn({});
    const pid = await kernel.processes.spawnChild(root, { image: 'desk' });
    expect(await refused(() => kernel.as(root).send(pid, { dish: 7 }))).toMatchObject({
      code: 'INVALID_INPUT',
      facts: { path: 'message.dish', image: 'desk@1' },
    });
    expect(await refused(() => kernel.as(root).send(pid, 'soup'))).toMatchObject({ code: 'INVALID_INPUT' });
    await kernel.as(root).send(pid, { dish: 'soup' });
    expect((await kernel.as(pid).receive({ timeoutMs: 0 })).body).toEqual({ dish: 'soup', count: 1 });
  });

  it('lets messages pass to images without one', async () => {
    const { kernel } = await kernelFixture({ images: [desk({ messages: order })] });
    const root = await kernel.processes.spawn({});
    const pid = await kernel.processes.spawnChild(root, { image: 'base' });
    await kernel.as(root).send(pid, { dish: 7 });
    expect((await kernel.as(pid).receive({ timeoutMs: 0 })).body).toEqual({ dish: 7 });
  });

  it('does not tell a process that may not send anything about the receiver', async () => {
    let asked = 0;
    const messages = {
      '~standard': { version: 1 as const, vendor: 'test', validate: () => ({ value: ++asked }) },
    };
    const { kernel } = await kernelFixture({ images: [desk({ messages })] });
    const stranger = await kernel.processes.spawn({});
    const pid = await kernel.processes.spawn({ image: 'desk' });
    expect(await refusal(kernel.as(stranger).send(pid, 'x'))).toMatchObject({ code: 'CAPABILITY_DENIED' });
    expect(asked).toBe(0);
  });

  it('checks what another program has sent when it is received, tells it, and goes on with the next', async () => {
    const store = await newStore();
    const sender = await openKernel({ store, images: [waiter({})], node: idle });
    const root = await sender.processes.spawn({});
    const pid = await sender.processes.spawnChild(root, { image: 'waiter' });
    for (const body of [{ dish: 7 }, { dish: 'soup' }, 'nothing', { dish: 'fish', count: 2 }])
      await sender.as(root).send(pid, body);
    const receiver = await openKernel({ store, images: [waiter({ messages: order })] });
    expect((await receiver.processes.result(pid)).value).toEqual([
      { dish: 'soup', count: 1 },
      { dish: 'fish', count: 2 },
    ]);
    const sent = (await eventsOf(receiver, 'message.sent')).map(({ data }) => (data as { message: string }).message);
    const refused = await eventsOf(receiver, 'message.refused');
    expect(refused.map(({ pid: of, data }) => [of, data])).toEqual([
      [pid, { from: root, message: sent[0] }],
      [pid, { from: root, message: sent[2] }],
    ]);
    expect(await eventsOf(receiver, 'message.received')).toHaveLength(2);
    const records = (await receiver.audit.list({ action: 'message.refuse' })).items;
    expect(records).toMatchObject([
      { actor: pid, target: pid, facts: { message: sent[0], from: root }, payload: { problem: expect.any(String) } },
      { facts: { message: sent[2] } },
    ]);
    expect((await receiver.processes.journal(pid)).map(({ key, status }) => [key, status])).toEqual([
      ['receive #1', 'done'],
      ['receive #2', 'done'],
    ]);
  });

  it('gives a rerun the same messages, although the schema is another one then', async () => {
    const store = await newStore();
    const image = (messages: Schemas['messages'], hold: Promise<unknown>) =>
      defineImage({
        name: 'waiter',
        ...(messages === undefined ? {} : { messages }),
        run: async (ctx) => {
          const { body } = await ctx.receive();
          await ctx.step('got', () => null);
          await hold;
          return body as JsonValue;
        },
      });
    const first = await openKernel({ store, images: [image(order, new Promise(() => undefined))] });
    const root = await first.processes.spawn({});
    const pid = await first.processes.spawnChild(root, { image: 'waiter' });
    const got = new Promise<void>((resolve) => {
      first.events.on('step.completed', () => resolve());
    });
    await first.as(root).send(pid, { dish: 'soup' });
    await got;
    await first.shutdown({ graceMs: 0 });
    const again = await openKernel({ store, images: [image(z.string(), Promise.resolve())] });
    expect((await again.processes.result(pid)).value).toEqual({ dish: 'soup', count: 1 });
    expect(await eventsOf(again, 'message.refused')).toEqual([]);
  });

  it('sees handles as handles', async () => {
    const messages = z.object({ report: z.custom<ObjectHandle>((value) => ObjectHandle.is(value)) });
    const { kernel, refused } = await kernelFixture({ images: [desk({ messages })] });
    const root = await kernel.processes.spawn({});
    const pid = await kernel.processes.spawnChild(root, { image: 'desk' });
    const report = await kernel.as(root).memory.create({ type: 'artifact', payload: { n: 1 } });
    expect(await refused(() => kernel.as(root).send(pid, { report: report.id }))).toMatchObject({
      code: 'INVALID_INPUT',
    });
    await kernel.as(root).send(pid, { report });
    const { body } = await kernel.as(pid).receive({ timeoutMs: 0 });
    expect((await kernel.as(pid).memory.read((body as { report: ObjectHandle }).report)).payload).toEqual({ n: 1 });
  });

  it('is not asked about messages of the kernel', async () => {
    const kernel = await openKernel({ images: [desk({ messages: order })] });
    const call = { resource: 'command:**', rights: ['call' as const] };
    const pid = await kernel.processes.spawn({ image: 'desk', capabilities: [call] });
    await kernel.as(pid).run({ argv: ['true'], background: true });
    expect(await kernel.as(pid).receive({ timeoutMs: 20_000 })).toMatchObject({ kind: 'command.ended' });
  });

  it('refuses a message whose schema throws or answers with what is no JSON', async () => {
    const answers: (() => unknown)[] = [
      () => {
        throw new Error('broken');
      },
      () => ({ value: new Date(0) }),
      () => undefined,
    ];
    const messages = {
      '~standard': { version: 1 as const, vendor: 'test', validate: () => answers.shift()?.() as never },
    };
    const { kernel, refused } = await kernelFixture({ images: [desk({ messages })] });
    const root = await kernel.processes.spawn({});
    const pid = await kernel.processes.spawnChild(root, { image: 'desk' });
    for (let n = 0; n < 3; n++)
      expect(await refused(() => kernel.as(root).send(pid, 1))).toMatchObject({ code: 'INVALID_INPUT' });
  });
});

describe('the schemas of signals', () => {
  const go = { go: z.object({ speed: z.number() }) };

  it('refuse to the sender what does not fit, and nothing is changed', async () => {
    const { kernel, refused } = await kernelFixture({ images: [signalled({ signals: go })] });
    const pid = await kernel.processes.spawn({ image: 'signalled' });
    const signal = (payload?: JsonValue) =>
      kernel.processes.signal(pid, 'user.go', payload === undefined ? {} : { payload });
    expect(await refused(() => signal({ speed: 'fast' }))).toMatchObject({
      code: 'INVALID_INPUT',
      facts: { path: 'options.payload.speed', image: 'signalled@1', signal: 'user.go' },
    });
    expect(await refused(() => signal())).toMatchObject({ code: 'INVALID_INPUT' });
    expect(await signal({ speed: 3 })).toMatchObject({ delivered: [pid] });
    expect(await kernel.processes.signal(pid, 'user.other', { payload: 'any' })).toMatchObject({ delivered: [pid] });
    expect(await kernel.processes.signal(pid, 'pause')).toMatchObject({ delivered: [pid] });
  });

  it('refuse those of a scope that it does not fit, and reach the others', async () => {
    const any = defineImage({ name: 'any', run: async () => null });
    const { kernel } = await kernelFixture({ images: [signalled({ signals: { 'user.go': go.go } }), any] });
    const labels = { team: 'a' };
    const picky = await kernel.processes.spawn({ image: 'signalled', labels });
    const other = await kernel.processes.spawn({ image: 'any', labels });
    const report = await kernel.processes.signal({ labels }, 'user.go', { payload: 1 });
    expect(report).toMatchObject({ matched: 2, delivered: [other] });
    expect(report.refused).toMatchObject([{ pid: picky, code: 'INVALID_INPUT' }]);
    expect((await eventsOf(kernel, 'process.signalled')).map(({ pid }) => pid)).toEqual([other]);
  });

  it('answer a signal that is sent again with its id as before', async () => {
    const { kernel, refused } = await kernelFixture({ images: [signalled({ signals: go })] });
    const pid = await kernel.processes.spawn({ image: 'signalled' });
    const send = (payload: JsonValue) => kernel.processes.signal(pid, 'user.go', { payload, id: 's1' });
    expect(await refused(() => send('fast'))).toMatchObject({ code: 'INVALID_INPUT' });
    const report = await send({ speed: 1 });
    expect(await send({ speed: 1 })).toEqual(report);
  });

  it('check what another program has sent when it is received, tell it, and go on with the next', async () => {
    const store = await newStore();
    const sender = await openKernel({ store, images: [signalled({})], node: idle });
    const pid = await sender.processes.spawn({ image: 'signalled' });
    for (const payload of ['fast', { speed: 1 }, null, { speed: 2 }])
      await sender.processes.signal(pid, 'user.go', { payload });
    const receiver = await openKernel({ store, images: [signalled({ signals: go })] });
    expect((await receiver.processes.result(pid)).value).toEqual([{ speed: 1 }, { speed: 2 }]);
    expect((await eventsOf(receiver, 'signal.refused')).map(({ pid: of, data }) => [of, data])).toEqual([
      [pid, { signal: 'user.go', ordinal: 1 }],
      [pid, { signal: 'user.go', ordinal: 3 }],
    ]);
    expect(await eventsOf(receiver, 'process.received')).toHaveLength(2);
    expect((await receiver.audit.list({ action: 'signal.refuse' })).items).toHaveLength(2);
  });

  it('leave a wait for a signal open when what comes does not fit', async () => {
    const store = await newStore();
    const receiver = await openKernel({ store, images: [signalled({ signals: go })], node: { pollMs: 20 } });
    const sender = await openKernel({ store, images: [signalled({})], node: idle });
    const pid = await receiver.processes.spawn({ image: 'signalled' });
    await sender.processes.signal(pid, 'user.go', { payload: 'fast' });
    await eventually(async () => expect(await eventsOf(receiver, 'signal.refused')).toHaveLength(1));
    for (const speed of [1, 2]) await receiver.processes.signal(pid, 'user.go', { payload: { speed } });
    expect((await receiver.processes.result(pid)).value).toEqual([{ speed: 1 }, { speed: 2 }]);
  });
});

describe('schemas that an image cannot have', () => {
  it('are refused with their path', async () => {
    const run = async () => null;
    const supervisor = defineSupervisor({
      name: 'team',
      strategy: 'one_for_one',
      children: [],
      intensity: 1,
      periodMs: 1,
    });
    const command = commandImage({ name: 'list', command: 'ls' });
    const external = externalImage({ name: 'work' });
    const wrong: [object, string][] = [
      [defineImage({ name: 'a', messages: 'text' as never, run }), 'image.messages'],
      [defineImage({ name: 'a', messages: { dish: 'text' }, run }), 'image.messages'],
      [defineImage({ name: 'a', signals: { 'a b': order }, run }), 'image.signals'],
      [defineImage({ name: 'a', signals: { go: order, 'user.go': order }, run }), 'image.signals'],
      [defineImage({ name: 'a', signals: { go: 1 as never }, run }), 'image.signals.go'],
      [{ ...command, messages: order }, 'image.messages'],
      [{ ...command, events: {} }, 'image.events'],
      [{ ...supervisor, signals: { go: order } }, 'image.signals'],
      [{ ...external, events: { tick: order } }, 'image.events'],
    ];
    for (const [image, path] of wrong) {
      const { code, facts } = await refusal(openKernel({ images: [image as Image] }));
      expect([code, (facts as { path: string }).path]).toEqual(['INVALID_INPUT', expect.stringContaining(path)]);
    }
  });

  it('are known by their images only', async () => {
    const kernel = await openKernel({
      images: [externalImage({ name: 'work', messages: order, signals: { go: order } })],
    });
    const root: Pid = await kernel.processes.spawn({});
    await kernel.processes.signal(root, 'user.go', { payload: 1 });
    expect(kernel.images.list()).toContain('work@1');
  });
});
