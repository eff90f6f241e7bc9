import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createKernel, defineTool, type Kernel } from '../../src/index.js';
import { commandFixture } from '../support/command-fixture.js';
import { eventually } from '../support/eventually.js';
import { acts, looks } from '../support/face-calls.js';
import { faceFamily } from '../support/face-family.js';
import { checkInvariants } from '../support/invariants.js';
import { refusal } from '../support/kernel.js';
import { kernelFixture, lastSeq, manualClock } from '../support/kernel-fixture.js';

interface Watched {
  isSettled: boolean;
  readonly answer: Promise<unknown>;
}

function watched(call: Promise<unknown>): Watched {
  const answer = call.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  const state = { isSettled: false, answer };
  void answer.then(() => {
    state.isSettled = true;
  });
  return state;
}

/** Gives everything that could go on the time to do so. */
async function settleOthers(kernel: Kernel): Promise<void> {
  for (let turn = 0; turn < 10; turn++) {
    await kernel.events.list({ limit: 1 });
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('through the face of a paused process', () => {
  for (const [name, act] of Object.entries(acts)) {
    it(`${name} waits until it is resumed`, async () => {
      const { kernel, path, pid, face, ...ids } = await faceFamily();
      await kernel.processes.signal(pid, 'pause', { tree: false });
      const seq = await lastSeq(kernel);
      const call = watched(act(face, ids));
      await settleOthers(kernel);
      expect([call.isSettled, await lastSeq(kernel)]).toEqual([false, seq]);
      await kernel.processes.signal(pid, 'resume', { tree: false });
      expect(await call.answer).toHaveProperty('value');
      await checkInvariants(kernel, path);
    });
  }

  for (const [name, look] of Object.entries(looks)) {
    it(`${name} is answered at once`, async () => {
      const { kernel, pid, face, ...ids } = await faceFamily();
      await kernel.processes.pause(pid);
      await look(face, ids);
      expect((await kernel.processes.get(pid)).status).toBe('paused');
    });
  }

  it('a call is refused when the process is stopped meanwhile, and changes nothing', async () => {
    for (const stop of ['cancel', 'kill'] as const) {
      const { kernel, pid, face } = await faceFamily();
      await kernel.processes.pause(pid);
      const call = watched(face.spawnChild({ name: 'late' }));
      await settleOthers(kernel);
      await kernel.processes[stop](pid);
      expect(await call.answer).toMatchObject({ error: { code: 'PROCESS_TERMINATED' } });
      expect((await kernel.processes.list({ name: 'late' })).items).toEqual([]);
    }
  });

  it('a call is refused when a node begins to stop the process meanwhile, although a stopping one could make it', async () => {
    const { kernel, pid, face, edit } = await faceFamily();
    await edit(pid, { status: 'running', node: 'n_other' });
    await kernel.processes.signal(pid, 'pause', { tree: false });
    const call = watched(face.charge({ tokens: 1 }));
    await settleOthers(kernel);
    await kernel.processes.signal(pid, 'cancel', { tree: false });
    expect(await call.answer).toMatchObject({ error: { code: 'CANCELLED' } });
    expect((await kernel.processes.budget(pid)).tokens.used).toBe(0);
  });

  it('the time limit of a call goes on', async () => {
    const { kernel, pid, face, ended } = await faceFamily();
    await kernel.processes.pause(pid);
    const limits = { timeoutMs: 20 };
    expect((await refusal(face.wait(ended, limits))).code).toBe('WAIT_TIMEOUT');
    expect((await refusal(face.waitAny(undefined, limits))).code).toBe('WAIT_TIMEOUT');
    expect((await refusal(face.waitAll([ended], limits))).code).toBe('WAIT_TIMEOUT');
    expect((await refusal(face.receive(limits))).code).toBe('WAIT_TIMEOUT');
    expect((await refusal(face.receive({ timeoutMs: 0 }))).code).toBe('WAIT_TIMEOUT');
    expect((await refusal(face.tools.call('echo', {}, limits))).code).toBe('TOOL_TIMEOUT');
    await kernel.processes.resume(pid);
    expect(await face.receive(limits)).toMatchObject({ body: 'hello' });
    expect((await face.waitAny()).pid).toBe(ended);
  });

  it('the signal of a caller ends the waiting', async () => {
    const { kernel, pid, face, ended } = await faceFamily();
    await kernel.processes.pause(pid);
    const controller = new AbortController();
    const { signal } = controller;
    const spec = { resource: 'tool:other', rights: ['call' as const] };
    const calls = [
      face.wait(ended, { signal }),
      face.receive({ signal }),
      face.tools.call('echo', {}, { signal }),
      face.capabilities.request(spec, { signal }),
    ].map(watched);
    await settleOthers(kernel);
    expect(calls.map(({ isSettled }) => isSettled)).toEqual([false, false, false, false]);
    controller.abort();
    for (const { answer } of calls) expect(await answer).toMatchObject({ error: { code: 'CANCELLED' } });
    expect(await kernel.approvals.list()).toEqual([]);
  });

  it('a call that waited before the pause keeps its answer back until the end of it', async () => {
    const { kernel, pid, face, child } = await faceFamily();
    await face.receive();
    const calls = [watched(face.wait(child)), watched(face.receive())];
    await settleOthers(kernel);
    await kernel.processes.signal(pid, 'pause', { tree: false });
    await kernel.as(child).send(pid, 'second');
    await kernel.processes.exit(child, { result: 2 });
    await settleOthers(kernel);
    expect(calls.map(({ isSettled }) => isSettled)).toEqual([false, false]);
    await kernel.processes.resume(pid);
    expect(await calls[0]?.answer).toMatchObject({ value: { pid: child, value: 2 } });
    expect(await calls[1]?.answer).toMatchObject({ value: { body: 'second' } });
  });

  it('a pause after a pause holds it again, and many calls go on at the end', async () => {
    const { kernel, pid, face } = await faceFamily();
    await kernel.processes.pause(pid);
    const calls = Array.from({ length: 50 }, () => watched(face.charge({ tokens: 1 })));
    await settleOthers(kernel);
    await Promise.all([kernel.processes.resume(pid), kernel.processes.pause(pid)]);
    await settleOthers(kernel);
    await kernel.processes.resume(pid);
    for (const { answer } of calls) expect(await answer).toHaveProperty('value');
    expect((await kernel.processes.budget(pid)).tokens.used).toBe(50);
  });

  it('a deadline ends the waiting, also where no node has timers', async () => {
    const clock = manualClock();
    const { kernel } = await kernelFixture({ clock });
    const pid = await kernel.processes.spawn({ held: true, deadlineMs: 1_000 });
    const call = watched(kernel.as(pid).charge({ tokens: 1 }));
    await settleOthers(kernel);
    expect(call.isSettled).toBe(false);
    clock.advance(1_000);
    expect(await call.answer).toMatchObject({ error: { code: 'CANCELLED' } });
    expect(await kernel.processes.get(pid)).toMatchObject({ status: 'killed', outcome: { kind: 'timed_out' } });
  });

  it('a closed kernel refuses what waits', async () => {
    const { kernel, pid, face } = await faceFamily();
    await kernel.processes.pause(pid);
    const call = watched(face.charge({ tokens: 1 }));
    await settleOthers(kernel);
    await kernel.shutdown();
    expect(await call.answer).toMatchObject({ error: { code: 'KERNEL_CLOSED' } });
  });
});

describe('paused and resumed by another program', () => {
  it('a call waits, and goes on', async () => {
    const { kernel, path, pid, face } = await faceFamily({ node: { executor: false, pollMs: 10 } });
    const other = await createKernel({ logger: 'silent', store: path, node: { executor: false, pollMs: 10 } });
    try {
      await other.processes.pause(pid);
      const call = watched(face.charge({ tokens: 1 }));
      await settleOthers(kernel);
      expect(call.isSettled).toBe(false);
      await other.processes.resume(pid);
      expect(await call.answer).toHaveProperty('value');
    } finally {
      await other.shutdown();
    }
  });
});

describe('for a paused process', () => {
  it('the host acts at once', async () => {
    const { kernel, pid, child, ended } = await faceFamily();
    await kernel.processes.signal(pid, 'pause', { tree: false });
    await kernel.processes.spawnChild(pid, {});
    await kernel.processes.fork(pid, {});
    await kernel.processes.charge(pid, { tokens: 1 });
    await kernel.processes.reserve(pid, { tokens: 1 });
    expect((await kernel.processes.wait(pid, ended)).pid).toBe(ended);
    await kernel.memory.create(pid, { type: 'artifact', payload: 1 });
    await kernel.capabilities.grant(pid, { resource: 'tool:x', rights: ['call'] });
    await kernel.capabilities.delegate(pid, child, { resource: 'tool:echo', rights: ['call'] });
    await kernel.processes.exec(pid, { image: 'worker' });
    await kernel.processes.exit(pid);
  });

  it('a command that it waits for runs to its end, and the answer comes with the end of the pause', async () => {
    const { kernel, pid, face, workspace } = await commandFixture();
    const call = watched(face.run({ argv: ['sh', '-c', 'until test -e go; do sleep 0.01; done; echo done'] }));
    const command = await eventually(async () => {
      const [first] = await kernel.processes.children(pid, { status: 'running' });
      return first?.pid ?? expect.fail('no command');
    });
    await kernel.processes.signal(pid, 'pause', { tree: false });
    writeFileSync(join(workspace, 'go'), '');
    await kernel.processes.result(command);
    await settleOthers(kernel);
    expect(call.isSettled).toBe(false);
    await kernel.processes.resume(pid);
    expect(await call.answer).toMatchObject({ value: { stdout: 'done\n' } });
  });

  it('what has begun is recorded: a tool that ran, and a reservation that is settled', async () => {
    let finish = (): void => undefined;
    let hasBegun = false;
    const slow = defineTool({
      name: 'slow',
      description: 'Waits.',
      input: z.looseObject({}),
      effect: 'once',
      run: () =>
        new Promise<string>((resolve) => {
          hasBegun = true;
          finish = () => resolve('done');
        }),
    });
    const { kernel, pid, face } = await faceFamily({ tools: [slow] });
    await kernel.capabilities.grant(pid, { resource: 'tool:slow', rights: ['call'] });
    const reservation = await face.reserve({ tokens: 5 });
    const call = face.tools.call('slow');
    await eventually(() => expect(hasBegun).toBe(true));
    await kernel.processes.pause(pid);
    finish();
    expect(await call).toBe('done');
    expect((await face.settle(reservation, { tokens: 3 })).tokens.used).toBe(3);
  });
});
