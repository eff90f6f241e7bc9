import { inject, injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import type { WriteTx } from '../../base/store.js';
import { HolderLookup } from '../../capability/holding/holders.js';
import type { Act } from '../../unit/act.js';
import type { Call, Caller } from '../../unit/caller.js';
import { Units } from '../../unit/units.js';
import { MemoryRecorder } from '../memory-recorder.js';
import type { NumberedView } from '../object/object.js';
import { type AccessedObject, noVisibleObject, ObjectAccess } from '../object/object-access.js';
import { ObjectRepository } from '../object/object-repository.js';
import { parseMemorySpec, refSpec } from '../specs.js';
import { ViewRepository } from '../view/view-repository.js';
import { Views } from '../view/views.js';

/** Adds objects to the view of a process and removes them. */
@injectable()
export class ChangeView {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(HolderLookup) private readonly holders: HolderLookup,
    @inject(ObjectAccess) private readonly access: ObjectAccess,
    @inject(ObjectRepository) private readonly objects: ObjectRepository,
    @inject(ViewRepository) private readonly viewRepository: ViewRepository,
    @inject(Views) private readonly views: Views,
    @inject(MemoryRecorder) private readonly recorder: MemoryRecorder,
  ) {}

  /**
   * Adds an object that the process may read by a capability of its own. An object of the base is in the view already; where
   * it was removed, it is restored as it was. Throws NO_SUCH_OBJECT.
   */
  async add(caller: Caller, pid: Pid, ref: unknown): Promise<void> {
    const id = parseMemorySpec(refSpec, ref, 'ref');
    const call: Call = { caller, actor: pid, action: 'memory.addToView', target: pid };
    await this.units.commit(call, async (tx, act) => {
      const accessed = await this.access.authorize(tx, act, pid, id, 'read');
      const { view } = await this.findView(tx, pid);
      if (!(await this.addObject(tx, act, view, accessed))) return;
      const change = { event: 'view.changed', data: { object: id, isThere: true }, action: call.action } as const;
      this.recorder.recordChange(tx, act, pid, change, accessed.authorization, { object: id });
    });
  }

  /**
   * Removes an object from the view, also one of the base: later queries, contexts and forks leave it out. The object and the
   * capabilities on it stay. Does nothing for the goal of the process, which cannot be removed, and for an object that is
   * not there.
   */
  async remove(caller: Caller, pid: Pid, ref: unknown): Promise<void> {
    const id = parseMemorySpec(refSpec, ref, 'ref');
    const call: Call = { caller, actor: pid, action: 'memory.removeFromView', target: pid };
    await this.units.commit(call, async (tx, act) => {
      const { view, goal, generation } = await this.findView(tx, pid);
      const object = await this.objects.find(tx, id);
      if (object === undefined || goal === id || !(await this.views.holds(tx, view, object))) return;
      await this.viewRepository.removeObject(tx, view.n, id);
      const change = { event: 'view.changed', data: { object: id, isThere: false }, action: call.action } as const;
      this.recorder.recordChange(tx, act, pid, change, { capability: 'kin', generation }, { object: id });
    });
  }

  /** False when the object was in the view already. */
  private async addObject(tx: WriteTx, act: Act, view: NumberedView, accessed: AccessedObject): Promise<boolean> {
    const { object, authorization, inheritedRights } = accessed;
    if (inheritedRights !== undefined) {
      if ((await this.viewRepository.entryState(tx, view.n, object.id)) !== 'out') return false;
      await this.viewRepository.restoreObject(tx, view.n, object.id);
      return true;
    }
    const { capability } = authorization;
    const rights = await this.access.handleRights(tx, accessed);
    return this.views.add(tx, view, { object: object.id, capability, rights }, act.at);
  }

  private async findView(tx: WriteTx, pid: Pid) {
    const holder = await this.holders.findLive(tx, pid);
    const view = await this.views.find(tx, holder.view);
    if (view === undefined) throw noVisibleObject(pid, 'view');
    return { view, goal: holder.goal, generation: holder.generation };
  }
}
