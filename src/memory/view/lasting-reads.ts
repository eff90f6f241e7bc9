import { inject, injectable } from 'inversify';
import type { ObjectId } from '../../base/ids.js';
import type { ReadTx } from '../../base/store.js';
import { Turns } from '../../base/turns.js';
import { Evaluator } from '../../capability/decision/evaluator.js';
import { byPreference, type CapabilityRecord, type Receiver } from '../../capability/holding/capability-record.js';
import { CapabilityRepository } from '../../capability/holding/capability-repository.js';
import { Grants } from '../../capability/holding/grants.js';
import { Holdings } from '../../capability/holding/holdings.js';
import { maskOfRight, type Right } from '../../capability/resource/rights.js';
import { isOwnNamespace, type NumberedView, type ObjectRecord } from '../object/object.js';
import { objectQuestion } from '../object/object-access.js';
import { ObjectRepository } from '../object/object-repository.js';
import { Views } from './views.js';

const lastingRights: readonly Right[] = ['read', 'materialize'];
const pageRows = 200;

/** Reading and materializing of what is in the view of a process, when the rest of its authority ends. */
@injectable()
export class LastingReads {
  constructor(
    @inject(Views) private readonly views: Views,
    @inject(ObjectRepository) private readonly objects: ObjectRepository,
    @inject(CapabilityRepository) private readonly capabilities: CapabilityRepository,
    @inject(Holdings) private readonly holdings: Holdings,
    @inject(Evaluator) private readonly evaluator: Evaluator,
    @inject(Grants) private readonly grants: Grants,
  ) {}

  /**
   * Capabilities of `to`, not stored, that replace those by which it reads and materializes the objects of its view now.
   * It has no need of one for its own objects, nor for what it has through the base of the view. A capability with a use
   * limit has no successor: neither queries nor contexts show what it is on. `except` leaves the view in the same unit.
   */
  async createFor(tx: ReadTx, viewNumber: number, to: Receiver, except?: ObjectId): Promise<CapabilityRecord[]> {
    const view = await this.views.find(tx, viewNumber);
    if (view === undefined || !(await this.holdsOthers(tx, to))) return [];
    const successors: CapabilityRecord[] = [];
    const turns = new Turns();
    for (let after: ObjectId | undefined = ''; after !== undefined; ) {
      const { ids, last }: { ids: readonly ObjectId[]; last: ObjectId | undefined } = await this.views.page(
        tx,
        view,
        after,
        pageRows,
      );
      for (const id of ids) {
        await turns.next();
        const object = id === except ? undefined : await this.objects.find(tx, id);
        if (object === undefined || object.deletedAt !== null || isOwnNamespace(to.pid, object.namespace)) continue;
        successors.push(...(await this.createForObject(tx, view, object, to)));
      }
      after = last;
    }
    return successors;
  }

  /** Whether the process holds anything on objects but its own: most hold nothing, and no view is read for them. */
  private async holdsOthers(tx: ReadTx, { pid }: Receiver): Promise<boolean> {
    for (const kind of ['object', 'ns'] as const)
      if ((await this.capabilities.findByHolder(tx, pid, kind)).some(({ own }) => !own)) return true;
    return false;
  }

  private async createForObject(
    tx: ReadTx,
    view: NumberedView,
    object: ObjectRecord,
    to: Receiver,
  ): Promise<CapabilityRecord[]> {
    const inherited = (await this.views.inheritedAccessOf(tx, view, object, to.at))?.rights ?? 0;
    const { names } = objectQuestion(to.pid, 'read', object);
    const matching = await this.holdings.findMatching(tx, { pid: to.pid, names, matchesAnyName: true });
    const rightsBy = new Map<CapabilityRecord, Right[]>();
    for (const right of lastingRights.filter((one) => (inherited & maskOfRight(one)) === 0)) {
      const by = await this.findLive(tx, matching.toSorted(byPreference), right, to.at);
      if (by !== undefined) rightsBy.set(by, [...(rightsBy.get(by) ?? []), right]);
    }
    const successors: CapabilityRecord[] = [];
    for (const [by, rights] of rightsBy)
      successors.push(await this.grants.createSuccessor(tx, object.id, by, rights, to));
    return successors;
  }

  private async findLive(
    tx: ReadTx,
    records: readonly CapabilityRecord[],
    right: Right,
    at: number,
  ): Promise<CapabilityRecord | undefined> {
    for (const record of records) {
      if ((record.rights & maskOfRight(right)) === 0 || record.uses !== null) continue;
      if ((await this.evaluator.statusOf(tx, record, at)) === 'live') return record;
    }
    return undefined;
  }
}
