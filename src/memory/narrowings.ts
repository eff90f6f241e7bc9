import { inject, injectable } from 'inversify';
import { CapabilityError } from '../base/errors.js';
import type { Pid } from '../base/ids.js';
import type { ReadTx } from '../base/store.js';
import type { Asking } from '../capability/host-rules.js';
import type { Right } from '../capability/rights.js';
import type { ViewNarrowing } from './object.js';
import { ObjectAccess } from './object-access.js';

/** What a fork may be narrowed to: objects that its parent sees, and rights that the parent has on them. */
@injectable()
export class Narrowings {
  constructor(@inject(ObjectAccess) private readonly access: ObjectAccess) {}

  /** Throws NO_SUCH_OBJECT for a root that `pid` may not read, AMPLIFICATION for a right that it lacks on one. */
  async assertWithin(tx: ReadTx, asking: Asking, pid: Pid, { roots = [], rights = [] }: ViewNarrowing): Promise<void> {
    for (const root of roots) {
      await this.access.look(tx, asking, pid, root, 'read');
      for (const right of rights as readonly Right[]) {
        if ((await this.access.tried(tx, asking, pid, root, right)) === undefined) throw beyond(pid, root, right);
      }
    }
  }
}

function beyond(pid: Pid, object: string, right: Right): CapabilityError {
  return new CapabilityError('AMPLIFICATION', `Process ${pid} has not the right ${right} on ${object} itself.`, {
    facts: { field: 'view.rights', from: pid, object, right },
    hint: 'Narrow the view to rights that the parent has.',
  });
}
