import type { Approval, Kernel, Pid } from '../../src/index.js';
import { eventually } from './eventually.js';

/** The approval that a call of the process waits for, as soon as there is one. */
export function pendingApproval(kernel: Kernel, pid: Pid): Promise<Approval> {
  return eventually(async () => {
    const [approval] = await kernel.approvals.list({ pid });
    if (approval === undefined) throw new Error('nothing is asked yet');
    return approval;
  });
}
