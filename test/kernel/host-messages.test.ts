import { describe, expect, it } from 'vitest';
import { defineImage, ObjectHandle } from '../../src/index.js';
import { pollUntil } from '../support/gate.js';
import { checkInvariants } from '../support/invariants.js';
import { newStore, openKernel } from '../support/kernel.js';
import { kernelFixture } from '../support/kernel-fixture.js';

describe('a message of the host', () => {
  it('is received with the sender host, by whoever takes any and by whoever waits for the host', async () => {
    const { kernel, path } = await kernelFixture();
    const parent = await kernel.processes.spawn({});
    const pid = await kernel.processes.spawnChild(parent);
    await kernel.as(parent).send(pid, 'from the parent');
    await kernel.processes.send(pid, { text: 'from the host' });
    await kernel.processes.send(pid, 'and again');
    expect(await kernel.as(pid).receive({ from: 'host' })).toMatchObject({
      from: 'host',
      kind: 'message',
      body: { text: 'from the host' },
    });
    expect((await kernel.as(pid).receive()).body).toBe('from the parent');
    expect((await kernel.as(pid).receive()).from).toBe('host');
    const { items } = await kernel.audit.list({ action: 'message.send', actor: 'host' });
    expect(items.map(({ target, payload }) => [target, payload])).toEqual([
      [pid, { body: { text: 'from the host' } }],
      [pid, { body: 'and again' }],
    ]);
    await checkInvariants(kernel, path);
  });

  it('wakes a call that waits, also for the host alone', async () => {
    const { kernel } = await kernelFixture();
    const pid = await kernel.processes.spawn({});
    const waiting = [kernel.as(pid).receive({ from: 'host' }), kernel.as(pid).receive({ from: 'host' })];
    await kernel.processes.send(pid, 1);
    await kernel.processes.send(pid, 2);
    expect((await Promise.all(waiting)).map(({ body }) => body)).toEqual([1, 2]);
  });

  it('wakes a body, which gets it again when it is run again', async () => {
    const store = await newStore();
    const seen: unknown[] = [];
    const image = (hold: Promise<unknown>) =>
      defineImage({
        name: 'listener',
        run: async (ctx) => {
          const { from, body } = await ctx.receive({ from: 'host' });
          seen.push([from, body]);
          await hold;
          return body as string;
        },
      });
    const first = await openKernel({ store, images: [image(new Promise(() => undefined))] });
    const pid = await first.processes.spawn({ image: 'listener' });
    await pollUntil(async () => (await first.processes.get(pid)).status === 'waiting');
    await first.processes.send(pid, 'go');
    await pollUntil(() => seen.length === 1);
    await first.shutdown({ graceMs: 0 });
    const kernel = await openKernel({ store, images: [image(Promise.resolve())] });
    expect((await kernel.processes.result(pid)).value).toBe('go');
    expect(seen).toEqual([
      ['host', 'go'],
      ['host', 'go'],
    ]);
  });

  it('lets the process read the objects in it', async () => {
    const { kernel, path } = await kernelFixture();
    const other = await kernel.processes.spawn({});
    await kernel.processes.complete(other, { found: 7 });
    const { result } = await kernel.processes.result(other);
    const pid = await kernel.processes.spawn({});
    await kernel.processes.send(pid, { report: result ?? null });
    const { report } = (await kernel.as(pid).receive()).body as { report: ObjectHandle };
    expect(ObjectHandle.is(report)).toBe(true);
    expect(await kernel.as(pid).memory.read(report)).toMatchObject({ payload: { found: 7 } });
    await checkInvariants(kernel, path);
  });

  it('reaches a paused process, and needs no right although rules bind the process', async () => {
    const { kernel } = await kernelFixture();
    const pid = await kernel.processes.spawn({ held: true });
    await kernel.capabilities.deny('*', { resource: 'process:**', rights: ['send'] });
    await kernel.processes.send(pid, 'hello');
    await kernel.processes.resume(pid);
    expect((await kernel.as(pid).receive()).body).toBe('hello');
  });

  it('is refused where there is no process, after its end, and for what is no JSON', async () => {
    const { kernel, refused } = await kernelFixture();
    const pid = await kernel.processes.spawn({});
    expect((await refused(() => kernel.processes.send('p_none', 1))).code).toBe('NO_SUCH_PROCESS');
    expect((await refused(() => kernel.processes.send(pid, (() => 1) as never))).code).toBe('INVALID_INPUT');
    expect((await refused(() => kernel.processes.send('', 1))).code).toBe('INVALID_INPUT');
    await kernel.processes.exit(pid);
    expect((await refused(() => kernel.processes.send(pid, 1))).code).toBe('PROCESS_TERMINATED');
  });

  it('is refused when too many of them wait, and others still reach the process', async () => {
    const { kernel, refused } = await kernelFixture();
    const parent = await kernel.processes.spawn({});
    const pid = await kernel.processes.spawnChild(parent);
    for (let n = 0; n < 1_000; n++) await kernel.processes.send(pid, n);
    expect((await refused(() => kernel.processes.send(pid, 1_000))).code).toBe('MAILBOX_FULL');
    await kernel.as(parent).send(pid, 'still');
    expect((await kernel.as(pid).receive({ from: parent })).body).toBe('still');
  });
});
