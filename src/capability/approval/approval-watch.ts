import { inject, injectable } from 'inversify';
import type { ApprovalId, CapabilityId, Pid } from '../../base/ids.js';
import type { KernelEvent } from '../../events/event.js';
import { EventFeed } from '../../events/event-feed.js';

/** A call that waits for an answer, and what may change it. */
export interface Waiting {
  readonly approval: ApprovalId;
  readonly chain: readonly CapabilityId[];
  readonly processes: ReadonlySet<Pid>;
  wake(): void;
}

/** Tells who waits for an answer that it is there, or that what it was asked about may have changed, on whichever node. */
@injectable()
export class ApprovalWatch {
  private readonly waiting = new Set<Waiting>();

  constructor(@inject(EventFeed) feed: EventFeed) {
    feed.subscribe((events) => {
      if (this.waiting.size === 0) return;
      for (const event of events) this.tell(event);
    });
  }

  watch(call: Waiting): Disposable {
    this.waiting.add(call);
    return { [Symbol.dispose]: () => void this.waiting.delete(call) };
  }

  /** Wakes everybody, for the last time: what they look at next is closed. */
  close(): void {
    for (const call of [...this.waiting]) call.wake();
  }

  private tell(event: KernelEvent): void {
    for (const call of [...this.waiting]) if (concerns(event, call)) call.wake();
  }
}

function concerns(event: KernelEvent, { approval, chain, processes }: Waiting): boolean {
  switch (event.type) {
    case 'approval.answered':
      return event.data.approval === approval || (event.data.decision === 'always' && isAmong(processes, event.pid));
    case 'capability.revoked':
    case 'capability.transferred':
      return chain.includes(event.data.capability);
    case 'rule.set':
    case 'rule.lifted':
      return event.pid === undefined || processes.has(event.pid);
    case 'process.execed':
    case 'process.stopping':
    case 'process.exited':
      return isAmong(processes, event.pid);
    default:
      return false;
  }
}

function isAmong(processes: ReadonlySet<Pid>, pid: Pid | undefined): boolean {
  return pid !== undefined && processes.has(pid);
}
