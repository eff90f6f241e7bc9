import { inject, injectable } from 'inversify';
import { CapabilityError, MemoryError } from '../../base/errors.js';
import type { ObjectId, Pid } from '../../base/ids.js';
import type { ReadTx } from '../../base/store.js';
import { HolderLookup } from '../../capability/holding/holders.js';
import { maskOfRight, type Right } from '../../capability/resource/rights.js';
import type { Asking } from '../../capability/rule/rule-gate.js';
import type { ViewNarrowing } from '../object/object.js';
import { ObjectAccess } from '../object/object-access.js';
import { type Reached, throughViews, Views } from './views.js';

/** What a fork may be narrowed to: objects that it can have from its parent's view, and rights that the parent has on them. */
@injectable()
export class ViewLimits {
  constructor(
    @inject(HolderLookup) private readonly holders: HolderLookup,
    @inject(ObjectAccess) private readonly access: ObjectAccess,
    @inject(Views) private readonly views: Views,
  ) {}

  /**
   * Throws NO_SUCH_OBJECT for a root that `pid` may not read, or that no fork of its view could have: it is not in the view,
   * or may not be handed on. Throws AMPLIFICATION for a right that `pid`, or the entry in its view, lacks on a root.
   */
  async assertWithin(tx: ReadTx, asking: Asking, pid: Pid, { roots = [], rights = [] }: ViewNarrowing): Promise<void> {
    const view = await this.views.find(tx, (await this.holders.live(tx, pid)).view);
    for (const root of roots) {
      const { object } = await this.access.look(tx, asking, pid, root, 'read');
      const reached = view && (await this.views.byFork(tx, view, object, asking.at));
      if (reached === undefined) throw outside(pid, root);
      for (const right of rights as readonly Right[]) {
        if (!(await this.has(tx, asking, pid, root, right, reached))) throw beyond(pid, root, right);
      }
    }
  }

  private async has(
    tx: ReadTx,
    asking: Asking,
    pid: Pid,
    root: ObjectId,
    right: Right,
    reached: Reached,
  ): Promise<boolean> {
    const mask = maskOfRight(right);
    if ((throughViews & mask) !== 0 && (reached.rights & mask) === 0) return false;
    return (await this.access.tried(tx, asking, pid, root, right)) !== undefined;
  }
}

function outside(pid: Pid, object: ObjectId): MemoryError {
  return new MemoryError('NO_SUCH_OBJECT', `A fork of the view of ${pid} cannot have ${JSON.stringify(object)}.`, {
    facts: { pid, object },
    hint: 'Put it into the view of the parent first, with memory.addToView, under a capability that may be handed on.',
  });
}

function beyond(pid: Pid, object: ObjectId, right: Right): CapabilityError {
  return new CapabilityError('AMPLIFICATION', `Process ${pid} has not the right ${right} on ${object} in its view.`, {
    facts: { field: 'view.rights', from: pid, object, right },
    hint: 'Narrow the view to rights that the parent has.',
  });
}
