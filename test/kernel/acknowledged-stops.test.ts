import { describe, expect, it } from 'vitest';
import { defineImage, externalImage } from '../../src/index.js';
import { eventually } from '../support/eventually.js';
import { checkInvariants } from '../support/invariants.js';
import { newStore, openKernel, refusal } from '../support/kernel.js';
import { kernelFixture, manualClock, timedKernelFixture } from '../support/kernel-fixture.js';

const polite = externalImage({ name: 'polite', acknowledge: true });
const plain = externalImage({ name: 'plain' });
const images = [polite, plain];

describe('a stop of external work that acknowledges it', () => {
  it('leaves the process stopping until the worker completes it, which keeps its result', async () => {
    const { kernel, path } = await kernelFixture({ images });
    const pid = await kernel.processes.spawn({ image: 'polite' });
    await kernel.processes.progress(pid, { done: 1 });
    expect((await kernel.processes.cancel(pid, 'enough')).delivered).toEqual([pid]);
    expect((await kernel.processes.get(pid)).status).toBe('stopping');
    await kernel.processes.complete(pid, { saved: 3 });
    expect(await kernel.processes.result(pid)).toMatchObject({
      status: 'exited',
      outcome: { kind: 'completed', stop: { kind: 'cancelled', by: 'host', reason: 'enough' } },
      value: { saved: 3 },
    });
    await checkInvariants(kernel, path);
  });

  it('is answered by fail and by exit as well', async () => {
    const { kernel, path } = await kernelFixture({ images });
    const failing = await kernel.processes.spawn({ image: 'polite' });
    const exiting = await kernel.processes.spawn({ image: 'polite' });
    const own = await kernel.processes.spawn({ image: 'polite' });
    for (const pid of [failing, exiting, own]) await kernel.processes.cancel(pid);
    await kernel.processes.fail(failing, 'half done');
    await kernel.processes.exit(exiting, { exitCode: 3 });
    await kernel.as(own).exit();
    expect(await kernel.processes.get(failing)).toMatchObject({
      status: 'failed',
      message: 'half done',
      outcome: { kind: 'failed', stop: { kind: 'cancelled' } },
    });
    expect(await kernel.processes.get(exiting)).toMatchObject({
      status: 'exited',
      outcome: { kind: 'completed', exitCode: 3, stop: { kind: 'cancelled' } },
    });
    expect((await kernel.processes.get(own)).status).toBe('exited');
    await checkInvariants(kernel, path);
  });

  it('ends at once with an image that does not acknowledge stops, and by kill', async () => {
    const { kernel, path } = await kernelFixture({ images });
    const rude = await kernel.processes.spawn({ image: 'plain' });
    const killed = await kernel.processes.spawn({ image: 'polite' });
    await kernel.processes.cancel(rude);
    await kernel.processes.kill(killed);
    expect(await kernel.processes.get(rude)).toMatchObject({ status: 'killed', outcome: { kind: 'cancelled' } });
    expect(await kernel.processes.get(killed)).toMatchObject({ status: 'killed', outcome: { kind: 'killed' } });
    const stopping = await kernel.processes.spawn({ image: 'polite' });
    await kernel.processes.cancel(stopping);
    await kernel.processes.kill(stopping, 'too slow');
    expect(await kernel.processes.get(stopping)).toMatchObject({
      status: 'killed',
      outcome: { kind: 'killed', reason: 'too slow' },
    });
    await checkInvariants(kernel, path);
  });

  it('ends when the grace is over, with the reason of the stop; a late answer is refused', async () => {
    const { kernel, path } = await timedKernelFixture({ images });
    const pid = await kernel.processes.spawn({ image: 'polite' });
    await kernel.processes.cancel(pid, 'enough', { graceMs: 20 });
    expect(await kernel.processes.result(pid)).toMatchObject({
      status: 'killed',
      outcome: { kind: 'cancelled', reason: 'enough' },
    });
    expect((await refusal(kernel.processes.complete(pid, 1))).code).toBe('PROCESS_TERMINATED');
    await checkInvariants(kernel, path);
  });

  it('waits for the answer at the deadline and at the end of the parent too', async () => {
    const clock = manualClock();
    const { kernel, path } = await timedKernelFixture({ images, clock });
    const parent = await kernel.processes.spawn({});
    const child = await kernel.processes.spawnChild(parent, { image: 'polite' });
    const late = await kernel.processes.spawn({ image: 'polite', deadlineMs: 1_000 });
    await kernel.processes.exit(parent);
    expect((await kernel.processes.get(child)).status).toBe('stopping');
    clock.advance(1_001);
    await eventually(async () => expect((await kernel.processes.get(late)).status).toBe('stopping'));
    await kernel.processes.complete(late);
    expect((await kernel.processes.get(late)).outcome).toMatchObject({ stop: { kind: 'timed_out' } });
    clock.advance(5_000);
    await eventually(async () => expect((await kernel.processes.get(child)).status).toBe('killed'));
    expect((await kernel.processes.get(child)).outcome).toMatchObject({ kind: 'parent_exited', by: parent });
    await checkInvariants(kernel, path);
  });

  it('is waited for after a restart as well, and its grace goes on', async () => {
    const store = await newStore();
    const first = await openKernel({ store, images });
    const answered = await first.processes.spawn({ image: 'polite' });
    const silent = await first.processes.spawn({ image: 'polite' });
    await first.processes.cancel(answered, 'enough', { graceMs: 60_000 });
    await first.processes.cancel(silent, 'enough', { graceMs: 1 });
    await first.shutdown();
    const second = await openKernel({ store });
    expect((await second.processes.result(silent)).outcome).toMatchObject({ kind: 'cancelled', reason: 'enough' });
    expect((await second.processes.get(answered)).status).toBe('stopping');
    await second.processes.complete(answered, 'done');
    expect(await second.processes.result(answered)).toMatchObject({ status: 'exited', value: 'done' });
  });

  it('follows the image that the process has after exec', async () => {
    const { kernel, path } = await kernelFixture({ images });
    const becamePolite = await kernel.processes.spawn({ image: 'plain' });
    await kernel.processes.exec(becamePolite, { image: 'polite' });
    await kernel.processes.cancel(becamePolite);
    expect((await kernel.processes.get(becamePolite)).status).toBe('stopping');
    const becamePlain = await kernel.processes.spawn({ image: 'polite' });
    await kernel.processes.exec(becamePlain, { image: 'plain' });
    await kernel.processes.cancel(becamePlain);
    expect((await kernel.processes.get(becamePlain)).status).toBe('killed');
    await kernel.processes.complete(becamePolite);
    await checkInvariants(kernel, path);
  });

  it('is an option of external images only', async () => {
    const { kernel } = await kernelFixture({ images });
    const body = { ...defineImage({ name: 'body', run: async () => null }), acknowledge: true };
    const wrong = { ...externalImage({ name: 'wrong' }), acknowledge: 'yes' };
    for (const image of [body, wrong]) {
      expect((await refusal((async () => kernel.images.register(image as never))())).code).toBe('INVALID_INPUT');
    }
  });
});

describe('externalRef', () => {
  it('stands in the record, and lists and signals select by it', async () => {
    const { kernel } = await kernelFixture({ images });
    const ref = 'jobs/7f3a?attempt=1';
    const pid = await kernel.processes.spawn({ image: 'plain', externalRef: ref });
    const child = await kernel.processes.spawnChild(pid, { image: 'plain', externalRef: 'jobs/7f3b' });
    const none = await kernel.processes.spawn({ image: 'plain' });
    expect((await kernel.processes.get(pid)).externalRef).toBe(ref);
    expect(await kernel.processes.get(none)).not.toHaveProperty('externalRef');
    const listed = async (externalRef: string) =>
      (await kernel.processes.list({ externalRef })).items.map(({ pid: found }) => found);
    expect(await listed(ref)).toEqual([pid]);
    expect(await listed('jobs/7f3b')).toEqual([child]);
    expect(await listed('jobs')).toEqual([]);
    const report = await kernel.processes.signal({ externalRef: 'jobs/7f3b' }, 'cancel');
    expect(report.delivered).toEqual([child]);
    expect((await kernel.processes.get(pid)).status).toBe('created');
  });

  it('stays through exec and a restart', async () => {
    const store = await newStore();
    const first = await openKernel({ store, images });
    const pid = await first.processes.spawn({ image: 'plain', externalRef: 'job-1' });
    await first.processes.exec(pid, { image: 'polite' });
    await first.shutdown();
    const second = await openKernel({ store, images });
    const { items } = await second.processes.list({ externalRef: 'job-1' });
    expect(items.map(({ pid: found, image }) => [found, image])).toEqual([[pid, 'polite@1']]);
  });

  it('has 1 to 512 characters', async () => {
    const { kernel, refused } = await kernelFixture({ images });
    for (const externalRef of ['', 'x'.repeat(513), 5]) {
      const spawning = () => kernel.processes.spawn({ externalRef: externalRef as string });
      expect((await refused(spawning)).code).toBe('INVALID_INPUT');
    }
    const longest = await kernel.processes.spawn({ externalRef: 'x'.repeat(512) });
    expect((await kernel.processes.get(longest)).externalRef).toHaveLength(512);
  });
});
