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
import { CaseFolding } from '../resource/case-folding.js';
import { FilePlaces } from '../resource/workspace-files.js';
import { Rules } from '../rule/rules.js';
import { AuthorityGraph, GraphLoader, type GraphNode, RecordInterner } from './authority-graph.js';
import { CompiledAuthority } from './compiled-authority.js';
import { decide, kinTargetOf, type RawDecision } from './decide.js';
import { Evaluator } from './evaluator.js';
import type { Question } from './question.js';

type CapabilityEvent =
  | 'capability.granted'
  | 'capability.delegated'
  | 'capability.derived'
  | 'capability.transferred'
  | 'object.shared';

const pageRows = 500;
/** Capabilities and processes in the cache, some hundred bytes each. When it is full, it is cleared. */
const entriesMax = 500_000;
/** Entries that are marked as stale while nobody asks. With more than that, the cache is cleared. */
const staleMax = 10_000;
const triesMax = 3;

/**
 * Decides from memory: it holds the compiled authority of the processes that were asked about, and all capabilities and
 * processes that it depends on. This node's commits are applied before their callers are notified, those of other nodes
 * as the feed brings them.
 */
@injectable()
export class AuthorityCache {
  private graph = new AuthorityGraph();
  private interner = new RecordInterner();
  private readonly compiled = new Map<Pid, CompiledAuthority>();
  private readonly stale = new Stale();
  private rulesVersion = 0;
  /** The number of times the cache was cleared. A read that began before a clear must not be stored after it. */
  private clears = 0;
  /** The last read; reads run one after another. */
  private lastRead: Promise<unknown> = Promise.resolve();
  /** Events that arrived during a read, which may have seen the state before them; undefined between reads. */
  private eventsDuringRead: KernelEvent[] | undefined;
  private readonly handlers: EventHandlers<'authority'>;

  constructor(
    @inject(Store) private readonly store: Store,
    @inject(CapabilityRepository) private readonly repository: CapabilityRepository,
    @inject(Rules) private readonly rules: Rules,
    @inject(GraphLoader) private readonly loader: GraphLoader,
    @inject(CaseFolding) private readonly caseFolding: CaseFolding,
    @inject(FilePlaces) private readonly filePlaces: FilePlaces,
    @inject(Evaluator) private readonly evaluator: Evaluator,
    @inject(NodeIdentity) { nodeId }: NodeIdentity,
    @inject(EventOutbox) outbox: EventOutbox,
    @inject(EventFeed) feed: EventFeed,
  ) {
    this.handlers = this.eventHandlers();
    outbox.onCommitFirst((events) => {
      for (const event of events) this.apply(event);
    });
    const applyForeign = (event: KernelEvent) => {
      if (event.node !== nodeId) this.apply(event);
    };
    feed.subscribe('authority', sameHandler(this.handlers, applyForeign));
    feed.onRestart(() => this.clear());
  }

  /** The decision, at once where everything is in memory; otherwise after the missing part has been read. */
  decide(question: Question, now: number): RawDecision | Promise<RawDecision> {
    return this.decideFromMemory(question, now) ?? this.readAndDecide(question, now);
  }

  private async readAndDecide(question: Question, now: number): Promise<RawDecision> {
    for (let tries = 0; tries < triesMax; tries++) {
      const read = this.lastRead.then(() => this.read(question));
      this.lastRead = read.catch(() => undefined);
      const isLive = await read;
      const decision = isLive ? this.decideFromMemory(question, now) : undefined;
      if (decision !== undefined) return decision;
      if (!isLive) break;
    }
    // There is no such live process, or its authority changes faster than it is read.
    return this.store.read((tx) => this.evaluator.decide(tx, question, now));
  }

  /** Undefined when something has to be read first. */
  private decideFromMemory(question: Question, now: number): RawDecision | undefined {
    const { pid, names, right, request } = question;
    const { graph } = this;
    const holder = graph.holders.get(pid);
    const compiled = this.compiled.get(pid);
    if (holder === undefined || compiled?.rulesVersion !== this.rulesVersion || this.stale.size > 0) return undefined;
    const target = kinTargetOf(right, request);
    if (target !== undefined && !graph.holders.has(target)) return undefined;
    const input = {
      holder,
      rules: compiled.rulesMatching(question),
      matching: compiled.capabilitiesMatching(names),
      graph,
    };
    return decide(question, input, { now, workspace: this.filePlaces.workspace });
  }

  /** Reads stale entries again and adds those that the question needs; false when there is no such live process. */
  private async read({ pid, right, request }: Question): Promise<boolean> {
    if (this.graph.nodes.size + this.graph.holders.size > entriesMax) this.clear();
    const { clears } = this;
    this.eventsDuringRead = [];
    try {
      await this.refresh();
      const compiled = this.compiled.get(pid) ?? (await this.compile(pid));
      if (compiled === undefined) return false;
      await this.readRules(pid, compiled);
      const target = kinTargetOf(right, request);
      if (target !== undefined) await this.store.read((tx) => this.loader.loadHolder(tx, this.graph, target));
      if (clears === this.clears) this.compiled.set(pid, compiled);
    } catch (error) {
      // The marks of stale entries are gone already, so no entry can be trusted.
      this.clear();
      throw error;
    } finally {
      const missedEvents = this.eventsDuringRead;
      this.eventsDuringRead = undefined;
      for (const event of missedEvents) this.apply(event);
    }
    return true;
  }

  private clear(): void {
    this.clears++;
    this.graph = new AuthorityGraph();
    this.interner = new RecordInterner();
    this.compiled.clear();
    this.stale.drain();
  }

  /** Reads the entries again that events have marked as stale. */
  private async refresh(): Promise<void> {
    if (this.stale.size === 0) return;
    const { capabilities, holders, gained } = this.stale.drain();
    await this.store.read(async (tx) => {
      const found = await this.repository.findHolders(tx, [...holders]);
      for (const pid of holders) this.graph.holders.set(pid, found.get(pid));
      const records = [...(await this.repository.findAll(tx, [...capabilities]))];
      for (const { holder, resources } of gained)
        records.push(...(await this.repository.findByResource(tx, holder, resources)));
      await this.applyRecords(tx, records);
    });
  }

  /** Reads in pages, so that a long list keeps nobody waiting; changes that happen meanwhile are applied afterwards. */
  private async compile(pid: Pid): Promise<CompiledAuthority | undefined> {
    const holder = await this.store.read((tx) => this.loader.loadHolder(tx, this.graph, pid));
    if (holder === undefined || !holder.live) return undefined;
    const compiled = new CompiledAuthority();
    for (let after: NumberedCapability | undefined, more = true; more; ) {
      const page = await this.store.read(async (tx) => {
        const found = await this.repository.pageByHolder(tx, pid, { after, limit: pageRows });
        const records = found.map((record) => this.interner.intern(record));
        const nodes = await this.loader.loadChains(tx, this.graph, records);
        for (const node of nodes) compiled.addCapability(node, this.patternOf(node.record));
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
    const rules = await this.store.read((tx) => this.rules.findBinding(tx, holder));
    compiled.setRules(
      rules.map((rule) => [this.rules.patternOf(rule), rule]),
      version,
    );
  }

  /** Puts current records into the graph and into the compiled authority of their holders. */
  private async applyRecords(tx: ReadTx, records: readonly CapabilityRecord[]): Promise<void> {
    for (const record of records) {
      const known = this.graph.nodes.get(record.id);
      if (known === undefined) continue;
      if (known.record.holder !== record.holder) {
        this.compiled.get(known.record.holder)?.removeCapability(known, this.patternOf(record));
      }
      known.record = this.interner.intern(record);
    }
    for (const node of await this.loader.loadChains(tx, this.graph, records)) {
      node.record = this.interner.intern(node.record);
      this.compiled.get(node.record.holder)?.addCapability(node, this.patternOf(node.record));
    }
  }

  private patternOf({ resource }: CapabilityRecord) {
    return this.caseFolding.foldStored(resource);
  }

  /** Applies an event, unless no authority depends on its type. During a read it is also kept, to be applied again. */
  private apply(event: KernelEvent): void {
    const handler = (this.handlers as Partial<Record<EventType, (event: never) => void>>)[event.type];
    if (handler === undefined) return;
    this.eventsDuringRead?.push(event);
    handler(event as never);
    if (this.stale.size > staleMax) this.clear();
  }

  private eventHandlers(): EventHandlers<'authority'> {
    const readCapability = ({ pid = '', data }: KernelEvent<CapabilityEvent>) => {
      const { capability } = data;
      if (this.compiled.has(pid) || this.graph.nodes.has(capability)) this.stale.capabilities.add(capability);
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
        for (const id of data.counted) if (this.graph.nodes.has(id)) this.stale.capabilities.add(id);
      },
      'capability.revoked': ({ data }) => revoke(this.graph.nodes.get(data.capability)),
      'process.spawned': readHolder,
      'process.forked': readHolder,
      'process.reparented': readHolder,
      'process.execed': (event) => {
        this.compiled.delete(event.pid ?? '');
        readHolder(event);
      },
      'process.exited': ({ pid = '', data }) => this.applyExit(pid, data),
      'rule.set': readRules,
      'rule.lifted': readRules,
      'capabilities.pruned': () => this.clear(),
      'processes.pruned': () => this.clear(),
    };
  }

  /**
   * Capabilities that the parent gets at the end of a child have no event of their own: the one on the child's namespace,
   * and one on a result that the child did not create.
   */
  private applyExit(pid: Pid, { parent, result }: EventData['process.exited']): void {
    const holder = this.graph.holders.get(pid);
    if (holder !== undefined) this.graph.holders.set(pid, { ...holder, live: false });
    this.compiled.delete(pid);
    if (parent === undefined || !this.compiled.has(parent)) return;
    const namespace = `ns:process/${pid}/**`;
    this.stale.gained.push({
      holder: parent,
      resources: result === null ? [namespace] : [namespace, `object:${result}`],
    });
  }
}

/** Entries that have to be read again before anything is decided. */
class Stale {
  capabilities = new Set<CapabilityId>();
  holders = new Set<Pid>();
  gained: { readonly holder: Pid; readonly resources: readonly string[] }[] = [];

  get size(): number {
    return this.capabilities.size + this.holders.size + this.gained.length;
  }

  drain(): Pick<Stale, 'capabilities' | 'holders' | 'gained'> {
    const { capabilities, holders, gained } = this;
    this.capabilities = new Set();
    this.holders = new Set();
    this.gained = [];
    return { capabilities, holders, gained };
  }
}

function revoke(node: GraphNode | undefined): void {
  if (node !== undefined) node.record = { ...node.record, status: 'revoked' };
}
