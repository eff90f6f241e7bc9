import { type CapabilitySpec, KernelError, type ObjectHandle, type ObjectSpec, type Pid } from '../../../src/index.js';
import { type Stage, stage } from '../kernel-fixture.js';

/** Two roots that know nothing of each other, on one kernel. */
export interface OwnerAndStranger extends Stage {
  readonly owner: Pid;
  readonly stranger: Pid;
  /** A mutable object of the owner. */
  note(payload?: ObjectSpec['payload'], more?: Partial<ObjectSpec>): Promise<ObjectHandle>;
}

export async function ownerAndStranger(...capabilities: CapabilitySpec[]): Promise<OwnerAndStranger> {
  const fixture = await stage();
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

/** All that a caller learns from the refusal of `call`; the names in `hidden` are shown as `?`. */
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

/** An id of the same form that is nobody's. */
export const unknownId = 'o_00000000000000000000';
