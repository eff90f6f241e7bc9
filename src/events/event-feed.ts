import { inject, injectable } from 'inversify';
import { Logger } from '../base/logger.js';
import { Store } from '../base/store.js';
import type { EventConsumer, EventHandlers, KernelEvent } from './event.js';
import { EventOutbox } from './event-outbox.js';
import { EventRepository } from './event-repository.js';

const pageRows = 1_000;

/**
 * The one feed that crosses nodes: every event of the log, once and in order, whoever committed it. This node's own come
 * straight from its commits; where another program's stand in between, they are read from the log first.
 */
@injectable()
export class EventFeed {
  private seen = 0;
  private reading: Promise<void> | undefined;
  private more = false;
  private readonly handlers = new Map<string, Set<(event: KernelEvent) => void>>();
  private readonly listeners = new Set<(seq: number) => void>();
  private subscription: Disposable | undefined;

  constructor(
    @inject(Store) private readonly store: Store,
    @inject(EventRepository) private readonly repository: EventRepository,
    @inject(Logger) private readonly logger: Logger,
    @inject(EventOutbox) log: EventOutbox,
  ) {
    log.onCommit((events) => this.committed(events));
  }

  /** Begins after what is in the log now. */
  async start(): Promise<void> {
    this.seen = await this.store.read((tx) => this.repository.head(tx));
    this.subscription = this.store.onForeignCommit(() => this.catchUp());
  }

  /** Ends the feed; a read that is under way is finished first. */
  async stop(): Promise<void> {
    this.subscription?.[Symbol.dispose]();
    this.handlers.clear();
    this.listeners.clear();
    await this.reading;
  }

  /** Calls the handler of each event that `consumer` must react to. A handler must not throw. */
  subscribe<Consumer extends EventConsumer>(_consumer: Consumer, handlers: EventHandlers<Consumer>): Disposable {
    const entries = Object.entries<(event: never) => void>(handlers) as [string, (event: KernelEvent) => void][];
    for (const [type, handler] of entries) {
      const others = this.handlers.get(type);
      if (others === undefined) this.handlers.set(type, new Set([handler]));
      else others.add(handler);
    }
    return {
      [Symbol.dispose]: () => {
        for (const [type, handler] of entries) this.handlers.get(type)?.delete(handler);
      },
    };
  }

  /** Calls `listener` with the number of the newest event, whenever there are new ones of whatever type. */
  onAdvance(listener: (seq: number) => void): Disposable {
    this.listeners.add(listener);
    return { [Symbol.dispose]: () => void this.listeners.delete(listener) };
  }

  private committed(events: readonly KernelEvent[]): void {
    const isNext = events[0]?.seq === this.seen + 1;
    if (isNext && this.reading === undefined) this.deliver(events);
    else this.catchUp();
  }

  private catchUp(): void {
    this.more = true;
    this.reading ??= this.read().finally(() => {
      this.reading = undefined;
    });
  }

  private async read(): Promise<void> {
    try {
      while (this.more) {
        this.more = false;
        for (let page = await this.nextPage(); page.length > 0; page = await this.nextPage()) this.deliver(page);
      }
    } catch (error) {
      this.logger.error({ error: String(error) }, 'the event log could not be read; the next commit tries again');
    }
  }

  private nextPage(): Promise<KernelEvent[]> {
    return this.store.read((tx) => this.repository.page(tx, this.seen, pageRows));
  }

  private deliver(events: readonly KernelEvent[]): void {
    this.seen = events.at(-1)?.seq ?? this.seen;
    for (const event of events) for (const handler of this.handlers.get(event.type) ?? []) handler(event);
    for (const listener of this.listeners) listener(this.seen);
  }
}
