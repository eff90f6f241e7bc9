import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import type { ObjectId, Pid } from '../../base/ids.js';
import { type ReadTx, Store } from '../../base/store.js';
import { Evaluator } from '../../capability/decision/evaluator.js';
import { CapabilityRepository } from '../../capability/holding/capability-repository.js';
import { CaseFolding } from '../../capability/resource/case-folding.js';
import { coveringTexts } from '../../capability/resource/pattern-index.js';
import { matches, parseRequest } from '../../capability/resource/resource.js';
import { type Call, hostCaller } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { UnitPace } from '../../unit/unit-pace.js';
import { Units } from '../../unit/units.js';
import { MemoryCharges } from '../memory-charges.js';
import { OrphanRepository, referringTables, type ScannedObject } from './orphan-repository.js';

const pageRows = 1_000;
/** The most objects, and versions of one object, that are removed in a unit. */
const unitRows = 50;
const versionRows = 200;

/**
 * Removes the objects of pruned processes that nobody else holds. An object is held by a usable capability of another process
 * that reaches it, and by rows that are left: the view, goal or result of a process, a version in a view, and a link or a
 * source of an object that stays.
 */
@injectable()
export class OrphanedObjects {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(Units) private readonly units: Units,
    @inject(OrphanRepository) private readonly repository: OrphanRepository,
    @inject(CapabilityRepository) private readonly capabilities: CapabilityRepository,
    @inject(CaseFolding) private readonly caseFolding: CaseFolding,
    @inject(Evaluator) private readonly evaluator: Evaluator,
    @inject(MemoryCharges) private readonly charges: MemoryCharges,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /**
   * `goals` are the goals of the processes that were pruned: a capability of the parent on the namespace of its child does not
   * hold them. Answers with the pruned processes of which an object is left. Works in units, each a bounded part.
   */
  async remove(goals: ReadonlySet<ObjectId>): Promise<ReadonlySet<Pid>> {
    const orphans = await this.findOrphans();
    if (orphans.objects.size > 0) await this.markHeld(orphans, goals);
    const owners = new Set<Pid>();
    const unheld: Orphan[] = [];
    for (const orphan of orphans.objects.values()) {
      if (orphan.isHeld) owners.add(orphan.owner);
      else unheld.push(orphan);
    }
    const pace = new UnitPace();
    for (let rest: readonly Orphan[] = unheld; rest.length > 0; ) {
      const part = rest.slice(0, pace.partOf(unitRows));
      const { held, looked } = await this.removeUnit(pace, part, goals);
      for (const { owner } of held) owners.add(owner);
      rest = rest.slice(looked);
    }
    return owners;
  }

  private async findOrphans(): Promise<Orphans> {
    const orphans = new Orphans();
    for (let after: ObjectId | undefined = ''; after !== undefined; ) {
      const from: ObjectId = after;
      const page = await this.store.read((tx) => this.repository.pageObjects(tx, from, pageRows));
      for (const object of page) orphans.add(object);
      after = page.at(-1)?.id;
    }
    return orphans;
  }

  /** Marks what rows and capabilities hold, and what those objects were made from or link to. */
  private async markHeld(orphans: Orphans, goals: ReadonlySet<ObjectId>): Promise<void> {
    for (const table of referringTables) {
      for (let after: number | undefined = 0; after !== undefined; ) {
        const from: number = after;
        const page = await this.store.read((tx) => this.repository.pageReferences(tx, table, from, pageRows));
        for (const reference of page) orphans.refer(reference.from, reference.to);
        after = page.at(-1)?.n;
      }
    }
    const at = this.clock.peek();
    // Only what refers to others has to be known before the others are removed.
    const referring = [...orphans.referring()];
    for (let from = 0; from < referring.length; from += unitRows) {
      const part = referring.slice(from, from + unitRows);
      await this.store.read(async (tx) => {
        for (const orphan of part) orphan.isHeld ||= await this.isReached(tx, orphan, goals, at);
      });
    }
    orphans.spread();
  }

  /** Answers with those that are held after all, and how many it is done with: the rest is left for another unit. */
  private removeUnit(
    pace: UnitPace,
    part: readonly Orphan[],
    goals: ReadonlySet<ObjectId>,
  ): Promise<{ readonly held: readonly Orphan[]; readonly looked: number }> {
    const call: Call = { caller: hostCaller, actor: 'host', action: 'memory.sweep' };
    const unit = (begin: () => void) =>
      this.units.commit(call, async (tx, act) => {
        begin();
        const held: Orphan[] = [];
        let objects = 0;
        for (const [index, orphan] of part.entries()) {
          if (await this.isReached(tx, orphan, goals, act.at)) {
            held.push(orphan);
            continue;
          }
          const { isGone, bytes } = await this.repository.remove(tx, orphan.id, pace.partOf(versionRows));
          await this.charges.returnStored(tx, bytes);
          if (!isGone) return { held, looked: index };
          objects++;
        }
        const facts = { objects };
        if (objects > 0) this.recorder.recordAudit(tx, { ...act, action: call.action, outcome: 'ok', facts });
        return { held, looked: part.length };
      });
    return pace.measure(unit);
  }

  /** Whether a usable capability of some process reaches the object. */
  private async isReached(
    tx: ReadTx,
    { id, namespace, owner }: Orphan,
    goals: ReadonlySet<ObjectId>,
    at: number,
  ): Promise<boolean> {
    for (const name of [parseRequest(`ns:${namespace}/${id}`), parseRequest(`object:${id}`)]) {
      const texts = await coveringTexts(name, (prefix) => this.capabilities.hasMemoryPrefix(tx, prefix));
      const matching = (await this.capabilities.findOnMemory(tx, texts)).filter(
        ({ grantedBy, resource }) =>
          !(goals.has(id) && grantedBy === owner) && matches(this.caseFolding.foldStored(resource), name),
      );
      if ((await this.evaluator.filterLive(tx, matching, at)).length > 0) return true;
    }
    return false;
  }
}

interface Orphan {
  readonly id: ObjectId;
  readonly namespace: string;
  readonly owner: Pid;
  readonly to: ObjectId[];
  isHeld: boolean;
}

/** Objects in the namespaces of pruned processes, and what refers to them. */
class Orphans {
  readonly objects = new Map<ObjectId, Orphan>();
  /** What the newest versions of other objects were made from. */
  private readonly sources = new Set<ObjectId>();

  add({ id, namespace, orphanOf, sources }: ScannedObject): void {
    if (orphanOf === null) for (const source of sources) this.sources.add(source);
    else this.objects.set(id, { id, namespace, owner: orphanOf, to: [...sources], isHeld: false });
  }

  refer(from: ObjectId | null, to: readonly ObjectId[]): void {
    const by = from === null ? undefined : this.objects.get(from);
    for (const id of to) {
      const orphan = this.objects.get(id);
      if (orphan === undefined) continue;
      if (by === undefined) orphan.isHeld = true;
      else by.to.push(id);
    }
  }

  /** Those that are not known to be held and refer to other orphans. */
  *referring(): Generator<Orphan> {
    for (const id of this.sources) this.refer(null, [id]);
    for (const orphan of this.objects.values())
      if (!orphan.isHeld && orphan.to.some((id) => this.objects.has(id))) yield orphan;
  }

  /** Adds the objects that a held object was made from or links to. */
  spread(): void {
    const held = [...this.objects.values()].filter(({ isHeld }) => isHeld);
    for (let next = held.pop(); next !== undefined; next = held.pop()) {
      for (const id of next.to) {
        const orphan = this.objects.get(id);
        if (orphan === undefined || orphan.isHeld) continue;
        orphan.isHeld = true;
        held.push(orphan);
      }
    }
  }
}
