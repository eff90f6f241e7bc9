import { inject, injectable } from 'inversify';
import type { ApprovalId, CapabilityId, Pid } from '../../base/ids.js';
import type { KernelEvent } from '../../events/event.js';
import { EventFeed } from '../../events/event-feed.js';

/** A call that waits for an answer, with the capabilities and processes whose change wakes it. */
export interface WaitingApproval {
  readonly approval: ApprovalId;
  readonly chain: readonly CapabilityId[];
  readonly processes: ReadonlySet<Pid>;
  wake(): void;
}

/** Wakes waiting calls when their answer, or anything that it depends on, may have changed on any node. */
@injectable()
export class ApprovalWatch {
  private readonly waiting = new Set<WaitingApproval>();

  constructor(@inject(EventFeed) feed: EventFeed) {
    const wakeByChain = ({ data }: KernelEvent<'capability.revoked' | 'capability.transferred'>) =>
      this.wake(({ chain }) => chain.includes(data.capability));
    const wakeByRule = ({ pid }: KernelEvent) => this.wake(({ processes }) => pid === undefined || processes.has(pid));
    const wakeByProcess = ({ pid = '' }: KernelEvent) => this.wake(({ processes }) => processes.has(pid));
    feed.subscribe('approvals', {
      'approval.answered': ({ data, pid = '' }) =>
        this.wake(
          ({ approval, processes }) => data.approval === approval || (data.decision === 'always' && processes.has(pid)),
        ),
      'capability.revoked': wakeByChain,
      'capability.transferred': wakeByChain,
      'rule.set': wakeByRule,
      'rule.lifted': wakeByRule,
      'process.execed': wakeByProcess,
      'process.stopping': wakeByProcess,
      'process.exited': wakeByProcess,
    });
  }

  watch(call: WaitingApproval): Disposable {
    this.waiting.add(call);
    return { [Symbol.dispose]: () => void this.waiting.delete(call) };
  }

  /** Wakes all calls at shutdown; they find the store closed. */
  close(): void {
    for (const call of [...this.waiting]) call.wake();
  }

  private wake(concerns: (call: WaitingApproval) => boolean): void {
    for (const call of [...this.waiting]) if (concerns(call)) call.wake();
  }
}
