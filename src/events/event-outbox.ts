import { inject, injectable } from 'inversify';
import { DetachedContext } from '../base/detached-context.js';
import { Listeners } from '../base/listeners.js';
import { NodeIdentity } from '../base/node-identity.js';
import type { Channel, WriteTx } from '../base/store.js';
import { Turns } from '../base/turns.js';
import type { KernelEvent, NewEvent } from './event.js';
import { EventRepository } from './event-repository.js';

/** Units buffer their events here; the events are numbered once per group and passed to listeners after the commit. */
@injectable()
export class EventOutbox implements Channel<NewEvent, readonly KernelEvent[]> {
  private readonly context = new DetachedContext();
  private readonly firstListeners = new Listeners<[events: readonly KernelEvent[]]>();
  private readonly listeners = new Listeners<[events: readonly KernelEvent[]]>();

  constructor(
    @inject(EventRepository) private readonly repository: EventRepository,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
  ) {}

  append(tx: WriteTx, event: NewEvent): void {
    tx.defer(this, event);
  }

  /** `listener` gets the events of each of this node's commits, in order. It must not throw. */
  onCommit(listener: (events: readonly KernelEvent[]) => void): Disposable {
    return this.listeners.add(listener);
  }

  /** Like onCommit, but called before those listeners: for state that they read when they get an event. */
  onCommitFirst(listener: (events: readonly KernelEvent[]) => void): Disposable {
    return this.firstListeners.add(listener);
  }

  async seal(tx: WriteTx, items: readonly NewEvent[]): Promise<readonly KernelEvent[]> {
    let seq = await this.repository.head(tx);
    const sealed: KernelEvent[] = [];
    const turns = new Turns();
    for (const item of items) {
      await turns.next();
      const event = { ...item, seq: ++seq, node: this.node.nodeId } as KernelEvent;
      await this.repository.insert(tx, event);
      sealed.push(event);
    }
    return sealed;
  }

  committed(events: readonly KernelEvent[]): void {
    this.context.run(() => {
      this.firstListeners.notify(events);
      this.listeners.notify(events);
    });
  }
}
