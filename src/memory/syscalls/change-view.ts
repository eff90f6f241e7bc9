import { inject, injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import type { WriteTx } from '../../base/store.js';
import { Evaluator } from '../../capability/decision/evaluator.js';
import { CapabilityRepository } from '../../capability/holding/capability-repository.js';
import { HolderLookup } from '../../capability/holding/holders.js';
import type { Act } from '../../unit/act.js';
import type { Call, Caller } from '../../unit/caller.js';
import { Units } from '../../unit/units.js';
import { MemoryRecorder } from '../memory-recorder.js';
import type { NumberedView, ViewEntry } from '../object/object.js';
import { type Accessed, ObjectAccess, unseen } from '../object/object-access.js';
import { ObjectRepository } from '../object/object-repository.js';
import { parseMemorySpec, refSpec } from '../specs.js';
import { ViewRepository } from '../view/view-repository.js';
import { Views } from '../view/views.js';

/** What comes into the view of a process and goes out of it. */
@injectable()
export class ChangeView {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(HolderLookup) private readonly holders: HolderLookup,
    @inject(CapabilityRepository) private readonly capabilities: CapabilityRepository,
    @inject(Evaluator) private readonly evaluator: Evaluator,
    @inject(ObjectAccess) private readonly access: ObjectAccess,
    @inject(ObjectRepository) private readonly objects: ObjectRepository,
    @inject(ViewRepository) private readonly rows: ViewRepository,
    @inject(Views) private readonly views: Views,
    @inject(MemoryRecorder) private readonly journal: MemoryRecorder,
  ) {}

  /**
   * What a process may read by a capability of its own becomes a part of its view. What it was forked with is one already;
   * taken out, it comes back as it was. Throws NO_SUCH_OBJECT.
   */
  async add(caller: Caller, pid: Pid, ref: unknown): Promise<void> {
    const id = parseMemorySpec(refSpec, ref, 'ref');
    const call: Call = { caller, actor: pid, action: 'memory.addToView', target: pid };
    await this.units.commit(call, async (tx, act) => {
      const accessed = await this.access.take(tx, act, pid, id, 'read');
      const { view } = await this.viewOf(tx, pid);
      if (!(await this.added(tx, act, view, accessed))) return;
      const told = { event: 'view.changed', data: { object: id, isThere: true }, action: call.action } as const;
      this.journal.did(tx, act, pid, told, accessed.warrant, { object: id });
    });
  }

  /**
   * Takes it out of the view, also what came with the fork: queries, contexts and forks made from now on leave it out. The
   * object and the authority over it stay, and so does the goal that a view began with. What is not there is no mistake.
   */
  async remove(caller: Caller, pid: Pid, ref: unknown): Promise<void> {
    const id = parseMemorySpec(refSpec, ref, 'ref');
    const call: Call = { caller, actor: pid, action: 'memory.removeFromView', target: pid };
    await this.units.commit(call, async (tx, act) => {
      const { view, generation } = await this.viewOf(tx, pid);
      const object = await this.objects.find(tx, id);
      if (object === undefined || view.root === id || !(await this.views.holds(tx, view, object))) return;
      await this.rows.takeOut(tx, view.n, id);
      const told = { event: 'view.changed', data: { object: id, isThere: false }, action: call.action } as const;
      this.journal.did(tx, act, pid, told, { capability: 'kin', generation }, { object: id });
    });
  }

  /** False when there was nothing to do. */
  private async added(tx: WriteTx, act: Act, view: NumberedView, accessed: Accessed): Promise<boolean> {
    const { object, warrant, reached } = accessed;
    const standing = await this.rows.standing(tx, view.n, object.id);
    if (reached !== undefined) {
      if (standing !== 'out') return false;
      await this.rows.bringBack(tx, view.n, object.id);
      return true;
    }
    if (view.root === object.id || (typeof standing === 'object' && (await this.works(tx, act, standing))))
      return false;
    const rights = await this.access.rights(tx, accessed);
    await this.rows.addEntry(tx, view.n, { object: object.id, capability: warrant.capability, rights });
    return true;
  }

  /** An entry under a capability that has died is of no use to a fork: another one takes its place. */
  private async works(tx: WriteTx, { at }: Act, { capability }: ViewEntry): Promise<boolean> {
    const record = await this.capabilities.find(tx, capability);
    return record !== undefined && (await this.evaluator.status(tx, record, at)) === 'live';
  }

  private async viewOf(tx: WriteTx, pid: Pid): Promise<{ view: NumberedView; generation: number }> {
    const holder = await this.holders.live(tx, pid);
    const view = await this.views.find(tx, holder.view);
    if (view === undefined) throw unseen(pid, 'view');
    return { view, generation: holder.generation };
  }
}
