import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import type { CapabilityId, Pid } from '../../base/ids.js';
import { NodeIdentity } from '../../base/node-identity.js';
import { Store, type WriteTx } from '../../base/store.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { UnitPace } from '../../unit/unit-pace.js';
import { type InheritedCapability, type LeftBehind, PruneRepository } from '../process/prune-repository.js';
import { UnusedEnvironments } from './unused-environments.js';

const pageRows = 1_000;
/** The most rows that one unit removes: other callers wait for it. */
const unitRows = 200;
const nodeKeptMs = 86_400_000;

/** Removes what pruned processes have left behind, also in an earlier run that was interrupted, or of an earlier release. */
@injectable()
export class PrunedLeftovers {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(PruneRepository) private readonly repository: PruneRepository,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
    @inject(UnusedEnvironments) private readonly environments: UnusedEnvironments,
  ) {}

  /** Capabilities, views, registrations and approvals of processes that have no row. */
  async removeRows(): Promise<void> {
    const pace = new UnitPace();
    for (const kind of ['capabilities', 'views', 'registrations', 'approvals'] as const) {
      for (let after: number | undefined = 0; after !== undefined; ) {
        const from: number = after;
        const page = await this.store.read((tx) => this.repository.pageLeftBehind(tx, kind, from, pageRows));
        await this.removePage(pace, kind, page.numbers);
        after = page.last;
      }
    }
  }

  /** The capabilities of parents on the namespaces of pruned children, but for those of `kept`, of which objects are left. */
  async removeInherited(kept: ReadonlySet<Pid>): Promise<void> {
    const pace = new UnitPace();
    for (let after: InheritedCapability['place'] | undefined = ['', 0]; after !== undefined; ) {
      const from: InheritedCapability['place'] = after;
      const page = await this.store.read((tx) => this.repository.pageInherited(tx, from, pageRows));
      const unused = page.filter(({ child, isChildGone }) => isChildGone && !kept.has(child)).map(({ id }) => id);
      await this.removeCapabilities(pace, unused);
      after = page.at(-1)?.place;
    }
  }

  async removeEnvironments(): Promise<void> {
    const hashes = new Set<string>();
    for (let after: string | undefined = ''; after !== undefined; ) {
      const from: string = after;
      const page = await this.store.read((tx) => this.repository.pageEnvironments(tx, from, pageRows));
      for (const hash of page) hashes.add(hash);
      after = page.at(-1);
    }
    await this.environments.remove(hashes);
  }

  /** Rows of nodes that ended a day ago. */
  async removeNodes(): Promise<void> {
    const endedBefore = this.clock.peek() - nodeKeptMs;
    for (let more = true; more; ) {
      const removed = await this.store.write((tx) => this.repository.removeNodes(tx, endedBefore, unitRows));
      more = removed.length === unitRows;
    }
  }

  private async removePage(pace: UnitPace, kind: LeftBehind, numbers: readonly number[]): Promise<void> {
    for (let rest = numbers; rest.length > 0; ) {
      const rows = pace.partOf(unitRows);
      const part = rest.slice(0, rows);
      const unit = (begin: () => void) =>
        this.store.write(async (tx) => {
          begin();
          for (const [index, n] of part.entries())
            if (!(await this.repository.removeLeftBehind(tx, kind, n, rows))) return index;
          return part.length;
        });
      rest = rest.slice(await pace.measure(unit));
    }
  }

  private async removeCapabilities(pace: UnitPace, ids: readonly CapabilityId[]): Promise<void> {
    for (let rest = ids; rest.length > 0; ) {
      const part = rest.slice(0, pace.partOf(unitRows));
      const unit = (begin: () => void) =>
        this.store.write(async (tx) => {
          begin();
          const removed = new Map<Pid, CapabilityId[]>();
          for (const id of part) {
            const holder = await this.repository.removeCapability(tx, id);
            if (holder !== undefined) removed.set(holder, [...(removed.get(holder) ?? []), id]);
          }
          this.recordRemoval(tx, part.length, removed);
        });
      await pace.measure(unit);
      rest = rest.slice(part.length);
    }
  }

  private recordRemoval(tx: WriteTx, count: number, removed: ReadonlyMap<Pid, readonly CapabilityId[]>): void {
    const at = this.clock.now();
    this.recorder.recordEvent(tx, { type: 'capabilities.pruned', at, data: { count } });
    const act = { actor: 'kernel', via: `host:${this.node.operator}`, at };
    for (const [target, capabilities] of removed) {
      const entry = { action: 'capability.prune', outcome: 'ok', target, subject: target } as const;
      this.recorder.recordAudit(tx, { ...act, ...entry, facts: { capabilities } });
    }
  }
}
