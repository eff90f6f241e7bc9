import { expect } from 'vitest';
import type { Approval, Kernel } from '../../../src/index.js';

/** Tracks whether a call is waiting, resolved or refused with a code. */
export function trackCall<T>(promise: Promise<T>): { readonly done: Promise<unknown>; state: string } {
  const watch = {
    state: 'waiting',
    done: promise.then(
      (value) => {
        watch.state = 'resolved';
        return value;
      },
      (error) => {
        watch.state = error.code;
        return error;
      },
    ),
  };
  return watch;
}

/** The one approval that waits for an answer, as soon as it is there. */
export async function waitForPending(kernel: Kernel): Promise<Approval> {
  for (;;) {
    const [first, ...others] = await kernel.approvals.list();
    expect(others).toEqual([]);
    if (first !== undefined) return first;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Those that wait for an answer, as soon as there are so many. */
export async function waitForApprovals(kernel: Kernel, count: number): Promise<Approval[]> {
  for (;;) {
    const all = await kernel.approvals.list();
    if (all.length >= count) return all;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
