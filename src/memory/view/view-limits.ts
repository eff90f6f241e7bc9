import { inject, injectable } from 'inversify';
import { CapabilityError, MemoryError } from '../../base/errors.js';
import type { ObjectId, Pid } from '../../base/ids.js';
import type { ReadTx } from '../../base/store.js';
import { HolderLookup } from '../../capability/holding/holders.js';
import { maskOfRight, type Right } from '../../capability/resource/rights.js';
import type { CallContext } from '../../capability/rule/rule-gate.js';
import type { ViewNarrowing } from '../object/object.js';
import { ObjectAccess } from '../object/object-access.js';
import { type InheritedAccess, inheritableRights, Views } from './views.js';

/** Checks the narrowing of a fork: its roots can be inherited from the parent's view, and the parent has its rights on them. */
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
  async assertWithin(
    tx: ReadTx,
    context: CallContext,
    pid: Pid,
    { roots = [], rights = [] }: ViewNarrowing,
  ): Promise<void> {
    const view = await this.views.find(tx, (await this.holders.findLive(tx, pid)).view);
    for (const root of roots) {
      const { object } = await this.access.preview(tx, context, pid, root, 'read');
      const inherited = view && (await this.views.forkAccessOf(tx, view, object, context.at));
      if (inherited === undefined) throw notForkable(pid, root);
      for (const right of rights as readonly Right[]) {
        if (!(await this.hasRight(tx, context, pid, root, right, inherited))) throw rightMissing(pid, root, right);
      }
    }
  }

  private async hasRight(
    tx: ReadTx,
    context: CallContext,
    pid: Pid,
    root: ObjectId,
    right: Right,
    inherited: InheritedAccess,
  ): Promise<boolean> {
    const mask = maskOfRight(right);
    if ((inheritableRights & mask) !== 0 && (inherited.rights & mask) === 0) return false;
    return (await this.access.tryPreview(tx, context, pid, root, right)) !== undefined;
  }
}

function notForkable(pid: Pid, object: ObjectId): MemoryError {
  return new MemoryError('NO_SUCH_OBJECT', `A fork of the view of ${pid} cannot have ${JSON.stringify(object)}.`, {
    facts: { pid, object },
    hint: 'Put it into the view of the parent first, with memory.addToView, under a capability that may be handed on.',
  });
}

function rightMissing(pid: Pid, object: ObjectId, right: Right): CapabilityError {
  return new CapabilityError('AMPLIFICATION', `Process ${pid} has not the right ${right} on ${object} in its view.`, {
    facts: { field: 'view.rights', from: pid, object, right },
    hint: 'Narrow the view to rights that the parent has.',
  });
}
