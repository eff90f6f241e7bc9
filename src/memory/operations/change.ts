import { inject, injectable } from 'inversify';
import type { ObjectId, Pid } from '../../base/ids.js';
import type { WriteTx } from '../../base/store.js';
import type { Caller } from '../../capability/act.js';
import { Holders } from '../../capability/holders.js';
import { RecordedUnits } from '../../capability/recorded-units.js';
import { MemoryJournal } from '../memory-journal.js';
import { ObjectAccess } from '../object-access.js';
import { ObjectRepository } from '../object-repository.js';
import { parse, refSpec, relationSpec } from '../specs.js';
import { ViewRepository } from '../view-repository.js';

/** Changes around objects: deleting, linking, and what a view holds. */
@injectable()
export class ChangeObjects {
  constructor(
    @inject(RecordedUnits) private readonly units: RecordedUnits,
    @inject(Holders) private readonly holders: Holders,
    @inject(ObjectAccess) private readonly access: ObjectAccess,
    @inject(ObjectRepository) private readonly objects: ObjectRepository,
    @inject(ViewRepository) private readonly views: ViewRepository,
    @inject(MemoryJournal) private readonly journal: MemoryJournal,
  ) {}

  /** Nobody sees it any more; its name is free. Throws NO_SUCH_OBJECT. */
  async delete(caller: Caller, pid: Pid, ref: unknown): Promise<void> {
    const object = parse(refSpec, ref, 'ref');
    const call = { caller, actor: pid, action: 'memory.delete', target: pid };
    await this.units.commit(call, async (tx, act) => {
      const { warrant } = await this.access.take(tx, act, pid, object, 'delete');
      await this.objects.delete(tx, object, act.at);
      const told = { event: 'object.deleted', data: { object }, action: call.action } as const;
      this.journal.did(tx, act, pid, told, warrant, { object });
    });
  }

  /** Needs `link` on the source and `read` on the target. Making it again changes nothing. Throws NO_SUCH_OBJECT. */
  async link(caller: Caller, pid: Pid, from: unknown, to: unknown, given: unknown): Promise<void> {
    const source = parse(refSpec, from, 'from');
    const target = parse(refSpec, to, 'to');
    const relation = parse(relationSpec, given, 'relation');
    const call = { caller, actor: pid, action: 'memory.link', target: pid };
    await this.units.commit(call, async (tx, act) => {
      const { warrant } = await this.access.take(tx, act, pid, source, 'link');
      const reading = await this.access.take(tx, act, pid, target, 'read');
      const link = { source, relation, target, madeBy: pid, madeAt: act.at };
      if (!(await this.objects.insertLink(tx, link))) return;
      const data = { source, relation, target };
      const told = { event: 'object.linked', data, action: call.action } as const;
      this.journal.did(tx, act, pid, told, warrant, data, [reading.warrant]);
    });
  }

  /**
   * What it may read by a capability of its own becomes a part of its view; what it was forked with is one already.
   * Throws NO_SUCH_OBJECT.
   */
  async addToView(caller: Caller, pid: Pid, ref: unknown): Promise<void> {
    const object = parse(refSpec, ref, 'ref');
    const call = { caller, actor: pid, action: 'memory.addToView', target: pid };
    await this.units.commit(call, async (tx, act) => {
      const accessed = await this.access.take(tx, act, pid, object, 'read');
      const { view } = await this.holders.live(tx, pid);
      if (accessed.reached !== undefined || (await this.isIn(tx, view, object))) return;
      const { warrant } = accessed;
      const rights = await this.access.rights(tx, accessed);
      await this.views.addEntry(tx, view, { object, capability: warrant.capability, rights });
      const told = { event: 'view.changed', data: { object, isThere: true }, action: call.action } as const;
      this.journal.did(tx, act, pid, told, warrant, { object });
    });
  }

  /** Takes it out of the view; the object and the authority over it stay. What is not there is no mistake. */
  async removeFromView(caller: Caller, pid: Pid, ref: unknown): Promise<void> {
    const object = parse(refSpec, ref, 'ref');
    const call = { caller, actor: pid, action: 'memory.removeFromView', target: pid };
    await this.units.commit(call, async (tx, act) => {
      const { view, generation } = await this.holders.live(tx, pid);
      const entry = await this.views.entry(tx, view, object);
      if (entry === undefined) return;
      await this.views.removeEntry(tx, view, entry);
      const told = { event: 'view.changed', data: { object, isThere: false }, action: call.action } as const;
      this.journal.did(tx, act, pid, told, { capability: entry.capability, generation }, { object });
    });
  }

  /** Whether it is in the view by a row, or as the root, which needs none. */
  private async isIn(tx: WriteTx, view: number, object: ObjectId): Promise<boolean> {
    if ((await this.views.entry(tx, view, object)) !== undefined) return true;
    return (await this.views.find(tx, view))?.root === object;
  }
}
