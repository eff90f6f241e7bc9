import { inject, injectable } from 'inversify';
import { Listeners } from '../base/listeners.js';
import { Logger } from '../base/logger.js';
import { Store } from '../base/store.js';
import type { EventConsumer, EventHandlers, KernelEvent } from './event.js';
import { EventOutbox } from './event-outbox.js';
import { EventRepository } from './event-repository.js';

const pageRows = 1_000;

/**
 * Delivers every event of the log, of this node and of others, once and in order. This node's own events come straight
 * from its commits; events that other programs committed before them are read from the log first.
 */
@injectable()
export class EventFeed {
  private lastSeq = 0;
  private reading: Promise<void> | undefined;
  private hasMore = false;
  /** Whether events that were delivered may not be in the log any more. */
  private mayBeAhead = false;
  private readonly handlers = new Map<string, Listeners<[event: KernelEvent]>>();
  private readonly listeners = new Listeners<[seq: number]>();
  private readonly restartListeners = new Listeners<[seq: number]>();
  private subscription: Disposable | undefined;

  constructor(
    @inject(Store) private readonly store: Store,
    @inject(EventRepository) private readonly repository: EventRepository,
    @inject(Logger) private readonly logger: Logger,
    @inject(EventOutbox) outbox: EventOutbox,
  ) {
    outbox.onCommit((events) => this.onCommit(events));
  }

  /** Starts the feed after the newest event of the log. */
  async start(): Promise<void> {
    this.lastSeq = await this.store.read((tx) => this.repository.head(tx));
    this.subscription = this.store.onForeignCommit((hasLostCommits) => {
      this.mayBeAhead ||= hasLostCommits;
      this.catchUp();
    });
  }

  /** Stops the feed; waits for a read that is under way. */
  async stop(): Promise<void> {
    this.subscription?.[Symbol.dispose]();
    this.handlers.clear();
    this.listeners.clear();
    this.restartListeners.clear();
    await this.reading;
  }

  /** Calls the handler of each event that `consumer` must react to. A handler must not throw. */
  subscribe<Consumer extends EventConsumer>(_consumer: Consumer, handlers: EventHandlers<Consumer>): Disposable {
    const entries = Object.entries<(event: never) => void>(handlers) as [string, (event: KernelEvent) => void][];
    const subscriptions = entries.map(([type, handler]) => this.handlersOf(type).add(handler));
    return {
      [Symbol.dispose]: () => {
        for (const subscription of subscriptions) subscription[Symbol.dispose]();
      },
    };
  }

  /** Calls `listener` with the number of the newest event, whenever there are new events of any type. */
  onAdvance(listener: (seq: number) => void): Disposable {
    return this.listeners.add(listener);
  }

  /**
   * Calls `listener` with the number of the newest event when the log has lost events, as after a failover of a database server:
   * what was made of them does not hold any more, and their numbers are given again.
   */
  onRestart(listener: (seq: number) => void): Disposable {
    return this.restartListeners.add(listener);
  }

  private handlersOf(type: string): Listeners<[event: KernelEvent]> {
    const handlers = this.handlers.get(type) ?? new Listeners();
    this.handlers.set(type, handlers);
    return handlers;
  }

  private onCommit(events: readonly KernelEvent[]): void {
    const isNext = events[0]?.seq === this.lastSeq + 1;
    if (isNext && this.reading === undefined) this.deliver(events);
    else this.catchUp();
  }

  private catchUp(): void {
    this.hasMore = true;
    this.reading ??= this.read();
  }

  private async read(): Promise<void> {
    try {
      while (this.hasMore) {
        this.hasMore = false;
        if (this.mayBeAhead) await this.restart();
        for (let page = await this.nextPage(); page.length > 0; page = await this.nextPage()) this.deliver(page);
      }
    } catch (error) {
      this.logger.error({ error: String(error) }, 'the event log could not be read; the next commit tries again');
    } finally {
      // In the same turn in which nothing more was found: whoever commits from now on begins another read.
      this.reading = undefined;
    }
  }

  private async restart(): Promise<void> {
    const newest = await this.store.read((tx) => this.repository.head(tx));
    this.mayBeAhead = false;
    this.lastSeq = Math.min(this.lastSeq, newest);
    this.restartListeners.notify(newest);
  }

  private nextPage(): Promise<KernelEvent[]> {
    return this.store.read((tx) => this.repository.page(tx, this.lastSeq, pageRows));
  }

  private deliver(events: readonly KernelEvent[]): void {
    this.lastSeq = events.at(-1)?.seq ?? this.lastSeq;
    for (const event of events) this.handlers.get(event.type)?.notify(event);
    this.listeners.notify(this.lastSeq);
  }
}
