import type { ForkSpec, Kernel, ObjectHandle, ObjectSpec, Pid } from '../../../src/index.js';
import { refusal } from '../kernel.js';
import { type KernelFixture, kernelFixture } from '../kernel-fixture.js';

/** A process with a mutable note, and helpers for it and its children. */
export interface ParentAndChildren extends KernelFixture {
  readonly parent: Pid;
  readonly note: ObjectHandle;
  fork(spec?: ForkSpec, of?: Pid): Promise<Pid>;
  create(pid: Pid, payload: ObjectSpec['payload'], rest?: Partial<ObjectSpec>): Promise<ObjectHandle>;
  /** The payload that a process sees, or the error code. */
  read(pid: Pid, object: ObjectHandle): Promise<unknown>;
  /** The ids of the objects in the view of a process, without goals. */
  inView(pid: Pid): Promise<string[]>;
}

export async function parentAndChildren(existing?: KernelFixture): Promise<ParentAndChildren> {
  const fixture = existing ?? (await kernelFixture());
  const { kernel } = fixture;
  const parent = await kernel.processes.spawn({ image: 'worker' });
  const make: ParentAndChildren['create'] = (pid, payload, rest = {}) =>
    kernel.memory.create(pid, { type: 'claim', payload, immutable: false, ...rest });
  return {
    ...fixture,
    parent,
    note: await make(parent, { n: 1 }),
    fork: (spec = {}, of = parent) => kernel.processes.fork(of, { image: 'worker', ...spec }),
    create: make,
    read: (pid, object) => readOrCode(kernel, pid, object),
    async inView(pid) {
      const { items } = await kernel.memory.query(pid);
      return items.filter(({ type }) => type !== 'goal').map(({ id }) => id);
    },
  };
}

export async function readOrCode(kernel: Kernel, pid: Pid, object: ObjectHandle): Promise<unknown> {
  const call = kernel.memory.read(pid, object);
  return call.then(
    ({ payload }) => payload,
    async () => (await refusal(call)).code,
  );
}
