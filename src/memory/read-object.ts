import { inject, injectable } from 'inversify';
import { z } from 'zod';
import { Ledger } from '../audit/ledger.js';
import { Clock, type KernelClock } from '../base/clock.js';
import { MemoryError } from '../base/errors.js';
import type { ObjectId, Pid } from '../base/ids.js';
import { parseSpec } from '../base/spec.js';
import type { ReadTx } from '../base/store.js';
import { type Caller, viaOf } from '../capability/act.js';
import { Grants, type Reading } from '../capability/grants.js';
import { plainQuestion } from '../capability/question.js';
import { RecordedUnits } from '../capability/recorded-units.js';
import { parseRequest } from '../capability/resource.js';
import { Warrants } from '../capability/warrants.js';
import type { ObjectRecord } from './object.js';
import { ObjectHandle, type ObjectRef } from './object-handle.js';
import { ObjectRepository } from './object-repository.js';

const id = z.string().min(1).max(512);

@injectable()
export class ReadObject {
  constructor(
    @inject(RecordedUnits) private readonly units: RecordedUnits,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(ObjectRepository) private readonly repository: ObjectRepository,
    @inject(Grants) private readonly grants: Grants,
    @inject(Warrants) private readonly warrants: Warrants,
    @inject(Ledger) private readonly ledger: Ledger,
  ) {}

  /**
   * Reads without a trace, unless that uses something up: then it is a unit of its own, and on record. Throws
   * NO_SUCH_OBJECT, also for an object that `pid` may not read; where a rule asks, as `require` does.
   */
  async run(caller: Caller, input: Pid, ref: ObjectRef): Promise<ObjectRecord> {
    const pid = parseSpec(id, input, 'pid');
    const object = parseSpec(id, ObjectHandle.is(ref) ? ref.id : ref, 'ref');
    const question = () => plainQuestion(pid, 'read', parseRequest(`object:${object}`));
    const call = { caller, actor: pid, action: 'memory.read', target: object };
    const seen = await this.units.look(call, async (tx) => {
      const asking = { ...viaOf(caller), at: this.clock.peek() };
      const { found, by } = await this.readable(tx, pid, object, asking.at);
      const { approval, counted } = await this.warrants.lookBy(tx, asking, question(), by);
      return { found, isFree: approval === undefined && counted === 0 };
    });
    if (seen.isFree) return seen.found;
    return this.units.commit(call, async (tx, act) => {
      const { found, by } = await this.readable(tx, pid, object, act.at);
      const { capability, approval, generation } = await this.warrants.takeBy(tx, act, question(), by);
      const { action, target } = call;
      this.ledger.append(tx, {
        ...act,
        action,
        outcome: 'ok',
        target,
        generation,
        right: 'read',
        capability,
        approval,
      });
      return found;
    });
  }

  private async readable(
    tx: ReadTx,
    pid: Pid,
    object: ObjectId,
    now: number,
  ): Promise<{ readonly found: ObjectRecord; readonly by: Reading }> {
    const found = await this.repository.find(tx, object);
    const by = found && (await this.grants.reading(tx, pid, found, 'read', now));
    if (found === undefined || by === undefined) throw unreadable(pid, object);
    return { found, by };
  }
}

function unreadable(pid: Pid, object: ObjectId): MemoryError {
  return new MemoryError('NO_SUCH_OBJECT', `Process ${pid} sees no object ${JSON.stringify(object)}.`, {
    facts: { pid, object },
    hint: 'Use a handle that the process got from a wait, its goal or its own namespace.',
  });
}
