import { EventEmitter } from 'eventemitter3';
import { inject, injectable } from 'inversify';
import { z } from 'zod';
import { Deferred } from '../base/deferred.js';
import { docPages } from '../base/doc-pages.js';
import { errorText, InputError, invalidInput } from '../base/errors.js';
import type { Pid } from '../base/ids.js';
import { keepAlive } from '../base/keep-alive.js';
import { Logger } from '../base/logger.js';
import { CombinedSignal, onAbort } from '../base/on-abort.js';
import { type Page, scanRowsMax } from '../base/page.js';
import { isAbortSignal, logNumber, pageOptions, parseSpec, storedText } from '../base/spec.js';
import { Store } from '../base/store.js';
import { type Token, token } from '../base/token.js';
import { type EventType, isEventType, type KernelEvent } from './event.js';
import { EventFeed } from './event-feed.js';
import { EventOutbox } from './event-outbox.js';
import { EventReader } from './event-reader.js';
import { EventRepository } from './event-repository.js';
import { TreeMembership } from './tree-membership.js';

/** Selects events by process. */
export interface EventFilter {
  /** The process that the event is about. */
  readonly pid?: Pid;
  /** The process and every process that was spawned under it. */
  readonly tree?: Pid;
}

/** The events of a page of `list`. */
export interface EventListOptions<T extends EventType = EventType> extends EventFilter {
  /** Only events of these types; the events of the answer have the data of these types. */
  readonly types?: readonly T[];
  /** `asc`, oldest first, is the default; `desc`: newest first. */
  readonly order?: 'asc' | 'desc';
  /** The cursor of the page before, its `next`: the number of its last event. */
  readonly after?: string;
  /** Only events with a lower number than this one. */
  readonly before?: string | number;
  /** The largest number of events. */
  readonly limit?: number;
}

/** The events of a `stream`. */
export interface EventStreamOptions<T extends EventType = EventType> extends EventFilter {
  /** Only events of these types; the events of the stream have the data of these types. */
  readonly types?: readonly T[];
  /** The number of the last event that is known; default: from the beginning. */
  readonly after?: number;
  /** Ends the stream. */
  readonly signal?: AbortSignal;
}

/** A function that gets events. What it returns is not used. */
export type EventListener<T extends EventType = EventType> = (event: KernelEvent<T>) => unknown;

/** Events, published after their commit. Nothing subscribes in order to change kernel state. */
export interface EventBus {
  /** Calls `listener` with this node's events, in order, after their commit. An error of a listener is only logged. */
  on<T extends EventType>(type: T, listener: EventListener<T>, filter?: EventFilter): Disposable;
  on(type: '*', listener: EventListener, filter?: EventFilter): Disposable;
  /**
   * The durable log of all nodes after `after` (default: from the beginning), then new events as they are committed. No
   * gaps, no repeats; a slow reader slows only itself. Ends when `signal` aborts or the kernel is shut down.
   */
  stream<const T extends EventType = EventType>(options?: EventStreamOptions<T>): AsyncIterable<KernelEvent<T>>;
  /**
   * One page of the durable log, oldest first unless asked otherwise. It is empty only where nothing follows. Throws
   * INVALID_INPUT for a type that does not exist.
   */
  list<const T extends EventType = EventType>(options?: EventListOptions<T>): Promise<Page<KernelEvent<T>>>;
  /** The number of the newest event, 0 when there is none: where a `stream` goes on that begins after what is known now. */
  head(): Promise<number>;
}
export const EventBus: Token<EventBus> = token('EventBus');

const eventType = z.string().refine(isEventType, 'is not an event type');
const filterShape = { pid: storedText.optional(), tree: storedText.optional() };
const onFilter = z.strictObject(filterShape);
const typesShape = { types: z.array(eventType).optional() };
const listOptions = z.strictObject({
  ...filterShape,
  ...typesShape,
  order: z.enum(['asc', 'desc']).default('asc'),
  before: logNumber,
  ...pageOptions,
});
const streamOptions = z.strictObject({
  ...filterShape,
  ...typesShape,
  after: z.number().int().nonnegative().default(0),
  signal: z.custom<AbortSignal>(isAbortSignal, 'is not an AbortSignal').optional(),
});
const partRows = 500;

@injectable()
export class LogEventBus implements EventBus {
  private readonly emitter = new EventEmitter();
  private readonly closed = new AbortController();
  private readonly trees: TreeMembership;
  private readonly reader: EventReader;
  /** To the commits of this node, from the first listener on. */
  private subscription: Disposable | undefined;

  constructor(
    @inject(Store) private readonly store: Store,
    @inject(EventRepository) private readonly repository: EventRepository,
    @inject(EventFeed) private readonly feed: EventFeed,
    @inject(Logger) private readonly logger: Logger,
    @inject(EventOutbox) private readonly outbox: EventOutbox,
  ) {
    this.trees = new TreeMembership(store, repository);
    this.reader = new EventReader(store, repository, this.trees);
  }

  on(type: EventType | '*', listener: (event: never) => unknown, filter: EventFilter = {}): Disposable {
    if (type !== '*' && !isEventType(type)) throw unknownType(type);
    if (typeof listener !== 'function') throw notAListener();
    const { pid, tree } = parseSpec(onFilter, filter, 'filter');
    this.subscription ??= this.outbox.onCommit((events) => this.emit(events));
    let subscribed = true;
    const call = (event: KernelEvent) => (subscribed ? this.call(listener as EventListener, event) : undefined);
    const wrapped =
      tree === undefined
        ? (event: KernelEvent) => (pid === undefined || event.pid === pid ? call(event) : undefined)
        : this.inTree(tree, pid, call);
    this.emitter.on(type, wrapped);
    return {
      [Symbol.dispose]: () => {
        subscribed = false;
        this.emitter.off(type, wrapped);
      },
    };
  }

  async *stream<T extends EventType>(options: EventStreamOptions<T> = {}): AsyncGenerator<KernelEvent<T>> {
    const { after, signal, ...filter } = parseSpec(streamOptions, options, 'options', isAbortSignal);
    using ends = new CombinedSignal([signal, this.closed.signal]);
    const { signal: ended } = ends;
    let advanced = new Deferred();
    using _ended = onAbort(ended, () => advanced.resolve());
    using _alive = keepAlive();
    using _subscription = this.feed.onAdvance(() => advanced.resolve());
    let cursor = after;
    let hasRestarted = false;
    using _restarts = this.feed.onRestart((seq) => {
      cursor = Math.min(cursor, seq);
      hasRestarted = true;
    });
    while (!ended.aborted) {
      hasRestarted = false;
      const start = { from: cursor, order: 'asc', before: Number.POSITIVE_INFINITY, rows: partRows } as const;
      const part = await this.reader.read(filter, start);
      // Numbers that are given again belong to other events.
      if (hasRestarted) continue;
      cursor = part.cursor;
      for (const event of part.events) {
        // The store may have been closed while the reader held an event.
        if (ended.aborted) return;
        if (hasRestarted) break;
        yield event as KernelEvent<T>;
      }
      if (hasRestarted || !part.isLast || part.scanned > 0) continue;
      await advanced.promise;
      advanced = new Deferred();
    }
  }

  async list<T extends EventType>(options: EventListOptions<T> = {}): Promise<Page<KernelEvent<T>>> {
    const parsed = parseSpec(listOptions, options, 'options');
    const { limit, order, before = Number.POSITIVE_INFINITY, after, ...filter } = parsed;
    const items: KernelEvent<T>[] = [];
    const rows = Math.min(partRows, Math.max(limit, 100));
    let from = after === undefined ? (order === 'asc' ? 0 : Number.POSITIVE_INFINITY) : Number(after);
    for (let scanned = 0; items.length === 0 || scanned < scanRowsMax; ) {
      const part = await this.reader.read(filter, { from, order, before, rows });
      for (const event of part.events) {
        items.push(event as KernelEvent<T>);
        if (items.length === limit) return { items, next: String(event.seq) };
      }
      if (part.isLast) return { items };
      from = part.cursor;
      scanned += part.scanned;
    }
    return { items, next: String(from) };
  }

  head(): Promise<number> {
    return this.store.read((tx) => this.repository.head(tx));
  }

  close(): void {
    this.closed.abort();
    this.emitter.removeAllListeners();
    this.subscription?.[Symbol.dispose]();
  }

  private emit(events: readonly KernelEvent[]): void {
    for (const event of events) {
      this.emitter.emit(event.type, event);
      this.emitter.emit('*', event);
    }
  }

  /** Whether an event belongs to a tree may have to be read from the store; a chain of promises keeps the order. */
  private inTree(tree: Pid, pid: Pid | undefined, call: (event: KernelEvent) => void): (event: KernelEvent) => void {
    let last: Promise<void> = Promise.resolve();
    return (event) => {
      if (pid !== undefined && event.pid !== pid) return;
      last = last
        .then(async () => {
          if (await this.trees.contains(tree, event.pid)) call(event);
        })
        .catch((error) => this.report(error, event));
    };
  }

  private call(listener: EventListener, event: KernelEvent): void {
    try {
      const returned = listener(event);
      if (returned instanceof Promise) returned.catch((error) => this.report(error, event));
    } catch (error) {
      this.report(error, event);
    }
  }

  /** Never throws: it is called between a commit and the results of its callers. */
  private report(error: unknown, { seq, type }: KernelEvent): void {
    try {
      this.logger.error({ error: errorText(error), seq, type }, 'an event listener failed');
    } catch {
      // Nothing is left that the error could be reported to.
    }
  }
}

function unknownType(input: unknown): InputError {
  const type = typeof input === 'string' ? input.slice(0, 100) : typeof input;
  return new InputError('INVALID_INPUT', `There is no event type ${JSON.stringify(type)}.`, {
    facts: { path: 'type', problem: 'is not an event type', type },
    hint: `Name a type such as 'process.exited', 'user.NAME' for one of an image, or '*' for all. See ${docPages.eventTypes}.`,
  });
}

function notAListener(): InputError {
  return invalidInput('listener', 'is not a function', 'Give a function of one event.');
}
