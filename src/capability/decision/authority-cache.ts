import { inject, injectable } from 'inversify';
import type { CapabilityId, Pid } from '../../base/ids.js';
import { NodeIdentity } from '../../base/node-identity.js';
import { type ReadTx, Store } from '../../base/store.js';
import {
  type EventData,
  type EventHandlers,
  type EventType,
  type KernelEvent,
  sameHandler,
} from '../../events/event.js';
import { EventFeed } from '../../events/event-feed.js';
import { EventOutbox } from '../../events/event-outbox.js';
import type { CapabilityRecord } from '../holding/capability-record.js';
import { CapabilityRepository, type NumberedCapability } from '../holding/capability-repository.js';
import { kinOf } from '../holding/family-rights.js';
import { SharedValues } from '../holding/shared-values.js';
import { CaseFolding } from '../resource/case-folding.js';
import { FilePlaces } from '../resource/workspace-files.js';
import { Rules } from '../rule/rules.js';
import { AuthorityGraph, type GraphNode } from './authority-graph.js';
import { CompiledAuthority } from './compiled-authority.js';
import { decide } from './decide.js';
import { Evaluator, type LocatedDecision, ruled } from './evaluator.js';
import { GraphLoader } from './graph-loader.js';
import type { Question } from './question.js';

type CapabilityEvent =
  | 'capability.granted'
  | 'capability.delegated'
  | 'capability.derived'
  | 'capability.transferred'
  | 'object.shared';

const pageRows = 500;
/** Capabilities and processes that are kept, some hundred bytes each. When it is full, all of it goes. */
const entriesMax = 500_000;
/** What waits to be read again, where nobody asks any more. */
const staleMax = 10_000;
const triesMax = 3;

/**
 * Answers from memory: the authority of processes that were asked about, compiled, and everything that it rests on.
 * This node's commits are applied before their callers are told of them, those of others as the feed brings them.
 */
@injectable()
export class AuthorityCache {
  private graph = new AuthorityGraph();
  private shared = new SharedValues();
  private readonly compiled = new Map<Pid, CompiledAuthority>();
  private readonly stale = new Stale();
  private rulesVersion = 0;
  /** How often everything was forgotten: what was read across that is of no use. */
  private epoch = 0;
  /** Reads follow one another. */
  private reading: Promise<unknown> = Promise.resolve();
  /** What was told while a read was under way: it may have seen the state before. */
  private told: KernelEvent[] | undefined;
  private readonly handlers: EventHandlers<'authority'>;

  constructor(
    @inject(Store) private readonly store: Store,
    @inject(CapabilityRepository) private readonly repository: CapabilityRepository,
    @inject(Rules) private readonly rules: Rules,
    @inject(GraphLoader) private readonly loader: GraphLoader,
    @inject(CaseFolding) private readonly names: CaseFolding,
    @inject(FilePlaces) private readonly places: FilePlaces,
    @inject(Evaluator) private readonly evaluator: Evaluator,
    @inject(NodeIdentity) { nodeId }: NodeIdentity,
    @inject(EventOutbox) outbox: EventOutbox,
    @inject(EventFeed) feed: EventFeed,
  ) {
    this.handlers = this.handlersOfEvents();
    outbox.onCommitFirst((events) => {
      for (const event of events) this.apply(event);
    });
    const foreign = (event: KernelEvent) => {
      if (event.node !== nodeId) this.apply(event);
    };
    feed.subscribe('authority', sameHandler(this.handlers, foreign));
  }

  /** The decision, at once where all of it is known; otherwise after what is missing has been read. */
  decide(question: Question, now: number): LocatedDecision | Promise<LocatedDecision> {
    return this.known(question, now) ?? this.informed(question, now);
  }

  private async informed(question: Question, now: number): Promise<LocatedDecision> {
    for (let tries = 0; tries < triesMax; tries++) {
      const next = this.reading.then(() => this.read(question));
      this.reading = next.catch(() => undefined);
      const isThere = await next;
      const ruling = isThere ? this.known(question, now) : undefined;
      if (ruling !== undefined) return ruling;
      if (!isThere) break;
    }
    // Nobody that lives, or one whose authority changes faster than it is read.
    return this.store.read((tx) => this.evaluator.decide(tx, question, now));
  }

  /** Undefined when something has to be read first. */
  private known(question: Question, now: number): LocatedDecision | undefined {
    const { pid, names, right, request } = question;
    const { graph } = this;
    const holder = graph.holders.get(pid);
    const compiled = this.compiled.get(pid);
    if (holder === undefined || compiled?.rulesVersion !== this.rulesVersion || this.stale.size > 0) return undefined;
    const other = kinOf(right, request);
    if (other !== undefined && !graph.holders.has(other)) return undefined;
    const isChild = other !== undefined && graph.holders.get(other)?.parent === pid;
    const evidence = {
      isLive: holder.live,
      rules: compiled.rulesOn(names),
      isKin: isChild || (right === 'send' && other !== undefined && holder.parent === other),
      held: compiled.heldOn(names),
      graph,
    };
    return ruled(decide(question, evidence, { now, workspace: this.places.workspace }), holder, graph);
  }

  /** Brings what is known up to date and adds what the question needs; false when there is no such live process. */
  private async read({ pid, right, request }: Question): Promise<boolean> {
    if (this.graph.slots.size + this.graph.holders.size > entriesMax) this.forget();
    const { epoch } = this;
    this.told = [];
    try {
      await this.refresh();
      const compiled = this.compiled.get(pid) ?? (await this.compile(pid));
      if (compiled === undefined) return false;
      await this.readRules(pid, compiled);
      const other = kinOf(right, request);
      if (other !== undefined) await this.store.read((tx) => this.loader.learn(tx, this.graph, other));
      if (epoch === this.epoch) this.compiled.set(pid, compiled);
    } catch (error) {
      // What was to be read again is no longer marked, so nothing can be trusted.
      this.forget();
      throw error;
    } finally {
      const missed = this.told;
      this.told = undefined;
      for (const event of missed) this.apply(event);
    }
    return true;
  }

  private forget(): void {
    this.epoch++;
    this.graph = new AuthorityGraph();
    this.shared = new SharedValues();
    this.compiled.clear();
    this.stale.take();
  }

  /** Reads again what events have said is no longer as it was. */
  private async refresh(): Promise<void> {
    if (this.stale.size === 0) return;
    const { capabilities, holders, gained } = this.stale.take();
    await this.store.read(async (tx) => {
      for (const pid of holders) this.graph.holders.set(pid, await this.repository.holder(tx, pid));
      for (const id of capabilities) await this.put(tx, await this.repository.find(tx, id));
      for (const { holder, resources } of gained) {
        for (const record of await this.repository.heldOn(tx, holder, resources)) await this.put(tx, record);
      }
    });
  }

  /** In pages, so that a long list keeps nobody waiting; what changes meanwhile is applied afterwards. */
  private async compile(pid: Pid): Promise<CompiledAuthority | undefined> {
    const holder = await this.store.read((tx) => this.loader.learn(tx, this.graph, pid));
    if (holder === undefined || !holder.live) return undefined;
    const compiled = new CompiledAuthority();
    for (let after: NumberedCapability | undefined, more = true; more; ) {
      const page = await this.store.read(async (tx) => {
        const found = await this.repository.heldPage(tx, pid, { after, limit: pageRows });
        for (const record of found) {
          compiled.hold(await this.loader.add(tx, this.graph, this.shared.of(record)), this.patternOf(record));
        }
        return found;
      });
      after = page.at(-1);
      more = page.length === pageRows;
    }
    return compiled;
  }

  private async readRules(pid: Pid, compiled: CompiledAuthority): Promise<void> {
    const holder = this.graph.holders.get(pid);
    if (compiled.rulesVersion === this.rulesVersion || holder === undefined) return;
    const version = this.rulesVersion;
    const rules = await this.store.read((tx) => this.rules.binding(tx, holder));
    compiled.bind(
      rules.map((rule) => [this.rules.patternOf(rule), rule]),
      version,
    );
  }

  /** A row as it is now, where it is kept and with whom it lies. */
  private async put(tx: ReadTx, record: CapabilityRecord | undefined): Promise<void> {
    if (record === undefined) return;
    const known = this.graph.slots.get(record.id);
    if (known !== undefined && known.record.holder !== record.holder) {
      this.compiled.get(known.record.holder)?.drop(known, this.patternOf(record));
    }
    const slot = await this.loader.add(tx, this.graph, record);
    slot.record = this.shared.of(record);
    this.compiled.get(record.holder)?.hold(slot, this.patternOf(record));
  }

  private patternOf({ resource }: CapabilityRecord) {
    return this.names.pattern(resource);
  }

  /** Applies an event, unless no authority depends on its type. What a read that is under way may have missed is kept. */
  private apply(event: KernelEvent): void {
    const handler = (this.handlers as Partial<Record<EventType, (event: never) => void>>)[event.type];
    if (handler === undefined) return;
    this.told?.push(event);
    handler(event as never);
    if (this.stale.size > staleMax) this.forget();
  }

  private handlersOfEvents(): EventHandlers<'authority'> {
    const readCapability = ({ pid = '', data }: KernelEvent<CapabilityEvent>) => {
      const { capability } = data;
      if (this.compiled.has(pid) || this.graph.slots.has(capability)) this.stale.capabilities.add(capability);
    };
    const readHolder = ({ pid = '' }: KernelEvent) => {
      if (this.graph.holders.has(pid)) this.stale.holders.add(pid);
    };
    const readRules = () => {
      this.rulesVersion++;
    };
    return {
      'capability.granted': readCapability,
      'capability.delegated': readCapability,
      'capability.derived': readCapability,
      'capability.transferred': readCapability,
      'object.shared': readCapability,
      'capability.used': ({ data }) => {
        for (const id of data.counted) if (this.graph.slots.has(id)) this.stale.capabilities.add(id);
      },
      'capability.revoked': ({ data }) => revoke(this.graph.slots.get(data.capability)),
      'process.spawned': readHolder,
      'process.forked': readHolder,
      'process.reparented': readHolder,
      'process.execed': (event) => {
        this.compiled.delete(event.pid ?? '');
        readHolder(event);
      },
      'process.exited': ({ pid = '', data }) => this.ended(pid, data),
      'rule.set': readRules,
      'rule.lifted': readRules,
      'processes.pruned': () => this.forget(),
    };
  }

  /** What a process leaves to its parent has no event of its own: what it made, and a result that was not its own. */
  private ended(pid: Pid, { parent, result }: EventData['process.exited']): void {
    const holder = this.graph.holders.get(pid);
    if (holder !== undefined) this.graph.holders.set(pid, { ...holder, live: false });
    this.compiled.delete(pid);
    if (parent === undefined || !this.compiled.has(parent)) return;
    const made = `ns:process/${pid}/**`;
    this.stale.gained.push({ holder: parent, resources: result === null ? [made] : [made, `object:${result}`] });
  }
}

/** What has to be read again before anything is decided. */
class Stale {
  capabilities = new Set<CapabilityId>();
  holders = new Set<Pid>();
  gained: { readonly holder: Pid; readonly resources: readonly string[] }[] = [];

  get size(): number {
    return this.capabilities.size + this.holders.size + this.gained.length;
  }

  take(): Pick<Stale, 'capabilities' | 'holders' | 'gained'> {
    const { capabilities, holders, gained } = this;
    this.capabilities = new Set();
    this.holders = new Set();
    this.gained = [];
    return { capabilities, holders, gained };
  }
}

function revoke(slot: GraphNode | undefined): void {
  if (slot !== undefined) slot.record = { ...slot.record, status: 'revoked' };
}
