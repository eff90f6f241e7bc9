import { describe, expect, it } from 'vitest';
import { createKernel, type JsonValue, type KernelOptions, type ObjectHandle } from '../../src/index.js';
import { checkInvariants } from '../support/invariants.js';
import { newStore, refusal } from '../support/kernel.js';
import { kernelFixture } from '../support/kernel-fixture.js';
import { type ParentAndChildren, parentAndChildren } from '../support/memory/parent-and-children.js';

const mebibyte = 1024 * 1024;

/** A text whose JSON has this many bytes. */
const ofBytes = (bytes: number) => 'x'.repeat(bytes - 2);

/** Every call whose input becomes the payload of an object. */
function payloadInputs({
  kernel,
  parent,
  note,
  fork,
}: ParentAndChildren): Record<string, (payload: JsonValue) => Promise<JsonValue>> {
  const { memory, processes } = kernel;
  const read = async (object: ObjectHandle | string, pid = parent) => (await memory.read(pid, object)).payload;
  return {
    create: async (payload) => read(await memory.create(parent, { type: 'claim', payload })),
    update: async (payload) => read(await memory.update(parent, note, payload)),
    'answer of a merge policy': async (payload) => {
      const child = await fork({ mode: 'copy' });
      await memory.update(child, note, 'theirs');
      await memory.update(parent, note, 'ours');
      await processes.exit(child);
      await memory.merge(parent, child, () => payload);
      return read(note);
    },
    result: async (result) => {
      const child = await processes.spawnChild(parent, {});
      await processes.exit(child, { result });
      return (await processes.wait(parent, child)).value ?? null;
    },
    goal: async (payload) => {
      const child = await processes.spawnChild(parent, { goal: { payload } });
      return Object.values((await read((await processes.get(child)).goal, child)) as object)[0];
    },
  };
}

describe('the size of a payload', () => {
  it.each([2_000, 6 * mebibyte])('is limited to the %i bytes that the kernel was opened with', async (bytes) => {
    const all = await parentAndChildren(await kernelFixture({ payloadBytesMax: bytes }));
    for (const [way, give] of Object.entries(payloadInputs(all))) {
      const most = ofBytes(way === 'goal' ? bytes - '{"payload":}'.length : bytes);
      expect([way, (await give(most)) === most]).toEqual([way, true]);
      expect([way, await refusal(give(`${most}x`))]).toMatchObject([
        way,
        { code: 'INVALID_INPUT', facts: { bytesMax: bytes } },
      ]);
    }
    await checkInvariants(all.kernel, all.path);
  });

  it('is 1 MiB unless something else is said', async () => {
    const { kernel, parent } = await parentAndChildren();
    const made = (bytes: number) => kernel.memory.create(parent, { type: 'claim', payload: ofBytes(bytes) });
    await made(mebibyte);
    expect(await refusal(made(mebibyte + 1))).toMatchObject({ facts: { bytesMax: mebibyte } });
  });

  it('bounds what comes in: what a larger limit let in is read, copied and merged under a smaller one', async () => {
    const before = await parentAndChildren(await kernelFixture({ payloadBytesMax: 3 * mebibyte }));
    const payload = ofBytes(3 * mebibyte);
    const child = await before.fork({ mode: 'copy' });
    await before.kernel.memory.update(child, before.note, payload);
    await before.kernel.shutdown();
    const { kernel } = await kernelFixture({ store: before.path, payloadBytesMax: 1024 });
    await kernel.processes.exit(child);
    expect((await kernel.memory.merge(before.parent, child)).merged).toEqual([before.note.id]);
    expect((await kernel.memory.read(before.parent, before.note)).payload === payload).toBe(true);
    await checkInvariants(kernel, before.path);
  });

  it.each([0, -1, 1023, 0.5, Number.NaN, 64 * mebibyte + 1, '5', null])('cannot be limited to %j', async (bytes) => {
    const options = { store: await newStore(), payloadBytesMax: bytes } as KernelOptions;
    expect(await refusal(createKernel(options))).toMatchObject({
      code: 'INVALID_INPUT',
      facts: { path: 'options.payloadBytesMax' },
    });
  });
});
