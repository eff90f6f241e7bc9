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
import { isAbortSignal, pageOptions, parseSpec } from '../base/spec.js';
import { Store } from '../base/store.js';
import { type Token, token } from '../base/token.js';
import { type EventType, isEventType, type KernelEvent } from './event.js';
import { EventFeed } from './event-feed.js';
import { EventOutbox } from './event-outbox.js';
import { EventRepository } from './event-repository.js';

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
  /** The cursor of the page before, its `next`. */
  readonly after?: string;
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
  /** One page of the durable log, oldest first. Throws INVALID_INPUT for a type that does not exist. */
  list<const T extends EventType = EventType>(options?: EventListOptions<T>): Promise<Page<KernelEvent<T>>>;
}
export const EventBus: Token<EventBus> = token('EventBus');

const eventType = z.string().refine(isEventType, 'is not an event type');
const filterShape = { pid: z.string().optional(), tree: z.string().optional() };
const onFilter = z.strictObject(filterShape);
const typesShape = { types: z.array(eventType).optional() };
const listOptions = z.strictObject({ ...filterShape, ...typesShape, ...pageOptions });
const streamOptions = z.strictObject({
  ...filterShape,
  ...typesShape,
  after: z.number().int().nonnegative().default(0),
  signal: z.custom<AbortSignal>(isAbortSignal, 'is not an AbortSignal').optional(),
});
const streamPageRows = 500;

@injectable()
export class LogEventBus implements EventBus {
  private readonly emitter = new EventEmitter();
  private readonly closed = new AbortController();
  private readonly trees: TreeMembership;
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
    for (let cursor = after; !ended.aborted; ) {
      const from = cursor;
      const page = await this.store.read((tx) => this.repository.page(tx, from, streamPageRows));
      if (page.length === 0) {
        await advanced.promise;
        advanced = new Deferred();
      }
      for (const event of page) {
        // The store may have been closed while the reader held an event.
        if (ended.aborted) return;
        cursor = event.seq;
        if (!(await this.matches(event, filter))) continue;
        if (ended.aborted) return;
        yield event as KernelEvent<T>;
      }
    }
  }

  async list<T extends EventType>(options: EventListOptions<T> = {}): Promise<Page<KernelEvent<T>>> {
    const { limit, after, ...filter } = parseSpec(listOptions, options, 'options');
    const items: KernelEvent<T>[] = [];
    let cursor = Number(after ?? 0);
    for (let scanned = 0; scanned < scanRowsMax; ) {
      const from = cursor;
      const page = await this.store.read((tx) => this.repository.page(tx, from, streamPageRows));
      if (page.length === 0) return { items };
      for (const event of page) {
        cursor = event.seq;
        if (await this.matches(event, filter)) items.push(event as KernelEvent<T>);
        if (items.length === limit) return { items, next: String(cursor) };
      }
      scanned += page.length;
    }
    return { items, next: String(cursor) };
  }

  close(): void {
    this.closed.abort();
    this.emitter.removeAllListeners();
    this.subscription?.[Symbol.dispose]();
  }

  private async matches(
    event: KernelEvent,
    filter: { pid?: string | undefined; tree?: string | undefined; types?: readonly string[] | undefined },
  ): Promise<boolean> {
    if (filter.types !== undefined && !filter.types.includes(event.type)) return false;
    if (filter.pid !== undefined && event.pid !== filter.pid) return false;
    return filter.tree === undefined || (await this.trees.contains(filter.tree, event.pid));
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

const cachedPathsMax = 50_000;

/** Tells whether a process was spawned under another one. That never changes, so paths are cached. */
class TreeMembership {
  private readonly paths = new Map<Pid, readonly number[]>();

  constructor(
    private readonly store: Store,
    private readonly repository: EventRepository,
  ) {}

  /** Whether `pid` is the root of `tree` or was spawned under it. */
  async contains(tree: Pid, pid: Pid | undefined): Promise<boolean> {
    if (pid === undefined) return false;
    if (pid === tree) return true;
    const top = (await this.pathOf(tree)).at(-1);
    return top !== undefined && (await this.pathOf(pid)).includes(top);
  }

  private async pathOf(pid: Pid): Promise<readonly number[]> {
    const cached = this.paths.get(pid);
    if (cached !== undefined) return cached;
    const path = await this.store.read((tx) => this.repository.spawnPath(tx, pid));
    if (this.paths.size >= cachedPathsMax) this.paths.clear();
    if (path.length > 0) this.paths.set(pid, path);
    return path;
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
