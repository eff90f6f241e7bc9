import { type CapabilitySpec, KernelError, type ObjectHandle, type ObjectSpec, type Pid } from '../../../src/index.js';
import { type KernelFixture, kernelFixture } from '../kernel-fixture.js';

/** Two unrelated root processes on one kernel. */
export interface OwnerAndStranger extends KernelFixture {
  readonly owner: Pid;
  readonly stranger: Pid;
  /** A mutable object of the owner. */
  note(payload?: ObjectSpec['payload'], more?: Partial<ObjectSpec>): Promise<ObjectHandle>;
}

export async function ownerAndStranger(...capabilities: CapabilitySpec[]): Promise<OwnerAndStranger> {
  const fixture = await kernelFixture();
  const owner = await fixture.kernel.processes.spawn({ image: 'worker', capabilities });
  const stranger = await fixture.kernel.processes.spawn({ image: 'worker' });
  return {
    ...fixture,
    owner,
    stranger,
    note: (payload = { n: 1 }, more = {}) =>
      fixture.kernel.memory.create(owner, { type: 'claim', payload, immutable: false, ...more }),
  };
}

/** Everything that the error of `call` reveals; ids in `hidden` are replaced by `?`. */
export async function refusalDetails(call: () => Promise<unknown>, ...hidden: string[]): Promise<unknown> {
  try {
    await call();
  } catch (error) {
    if (!(error instanceof KernelError)) throw error;
    const { code, message, facts, hint, retryable, name } = error;
    const text = JSON.stringify({ name, code, message, facts, hint, retryable });
    return JSON.parse(hidden.reduce((shown, id) => shown.replaceAll(id, '?'), text));
  }
  throw new Error('the call was not refused');
}

/** A well-formed id that no object has. */
export const unknownId = 'o_00000000000000000000';
