import { inject, injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import type { Call, Caller } from '../../unit/caller.js';
import { Units } from '../../unit/units.js';
import { MemoryRecorder } from '../memory-recorder.js';
import { ObjectAccess } from '../object/object-access.js';
import { ObjectRepository } from '../object/object-repository.js';
import { parseMemorySpec, refSpec, relationSpec } from '../specs.js';

/** Deletes and links objects. */
@injectable()
export class ChangeObjects {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(ObjectAccess) private readonly access: ObjectAccess,
    @inject(ObjectRepository) private readonly objects: ObjectRepository,
    @inject(MemoryRecorder) private readonly recorder: MemoryRecorder,
  ) {}

  /** Deletes the object for every process, and frees its name. Throws NO_SUCH_OBJECT. */
  async delete(caller: Caller, pid: Pid, ref: unknown): Promise<void> {
    const object = parseMemorySpec(refSpec, ref, 'ref');
    const call: Call = { caller, actor: pid, action: 'memory.delete', target: pid };
    await this.units.commit(call, async (tx, act) => {
      const { authorization } = await this.access.authorize(tx, act, pid, object, 'delete');
      await this.objects.delete(tx, object, act.at);
      const change = { event: 'object.deleted', data: { object }, action: call.action } as const;
      this.recorder.recordChange(tx, act, pid, change, authorization, { object });
    });
  }

  /** Needs `link` on the source and `read` on the target. Repeating a link changes nothing. Throws NO_SUCH_OBJECT. */
  async link(caller: Caller, pid: Pid, from: unknown, to: unknown, relationInput: unknown): Promise<void> {
    const source = parseMemorySpec(refSpec, from, 'from');
    const target = parseMemorySpec(refSpec, to, 'to');
    const relation = parseMemorySpec(relationSpec, relationInput, 'relation');
    const call: Call = { caller, actor: pid, action: 'memory.link', target: pid };
    await this.units.commit(call, async (tx, act) => {
      const { authorization } = await this.access.authorize(tx, act, pid, source, 'link');
      const readTarget = await this.access.authorize(tx, act, pid, target, 'read');
      const link = { source, relation, target, madeBy: pid, madeAt: act.at };
      if (!(await this.objects.insertLink(tx, link))) return;
      const data = { source, relation, target };
      const change = { event: 'object.linked', data, action: call.action } as const;
      this.recorder.recordChange(tx, act, pid, change, authorization, data, [readTarget.authorization]);
    });
  }
}
