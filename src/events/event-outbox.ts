import { inject, injectable } from 'inversify';
import { NodeIdentity } from '../base/node-identity.js';
import type { Channel, WriteTx } from '../base/store.js';
import type { KernelEvent, NewEvent } from './event.js';
import { EventRepository } from './event-repository.js';

/** The outbox: events are buffered by units, numbered once per group, and handed on after the commit. */
@injectable()
export class EventOutbox implements Channel<NewEvent, readonly KernelEvent[]> {
  private readonly listeners: ((events: readonly KernelEvent[]) => void)[] = [];

  constructor(
    @inject(EventRepository) private readonly repository: EventRepository,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
  ) {}

  append(tx: WriteTx, event: NewEvent): void {
    tx.defer(this, event);
  }

  /** `listener` gets the events of each of this node's commits, in order. It must not throw. */
  onCommit(listener: (events: readonly KernelEvent[]) => void): void {
    this.listeners.push(listener);
  }

  /** As onCommit, before everybody else: for what others ask when they hear of an event. */
  onCommitFirst(listener: (events: readonly KernelEvent[]) => void): void {
    this.listeners.unshift(listener);
  }

  async seal(tx: WriteTx, items: readonly NewEvent[]): Promise<readonly KernelEvent[]> {
    let seq = await this.repository.head(tx);
    const sealed: KernelEvent[] = [];
    for (const item of items) {
      const event = { ...item, seq: ++seq, node: this.node.nodeId } as KernelEvent;
      await this.repository.insert(tx, event);
      sealed.push(event);
    }
    return sealed;
  }

  committed(events: readonly KernelEvent[]): void {
    for (const listener of this.listeners) listener(events);
  }
}
