import { inject, injectable } from 'inversify';
import { MemoryError } from '../../base/errors.js';
import type { ObjectId, Pid } from '../../base/ids.js';
import { canonicalJson } from '../../base/json.js';
import { rightsOfMask } from '../../capability/resource/rights.js';
import type { Call, Caller } from '../../unit/caller.js';
import { Units } from '../../unit/units.js';
import { MemoryCharges } from '../memory-charges.js';
import { MemoryRecorder } from '../memory-recorder.js';
import { mintHandle, type ObjectHandle } from '../object/object.js';
import { ObjectAccess } from '../object/object-access.js';
import { ObjectRepository } from '../object/object-repository.js';
import { newVersion, PayloadParser, storedBytesOf } from '../object/object-writer.js';
import { VersionWriter } from '../object/version-writer.js';
import { parseMemorySpec, refSpec, updateOptions } from '../specs.js';
import { TokenCounter } from '../tokens/token-counter.js';

@injectable()
export class UpdateObject {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(PayloadParser) private readonly payloadParser: PayloadParser,
    @inject(ObjectAccess) private readonly access: ObjectAccess,
    @inject(ObjectRepository) private readonly objects: ObjectRepository,
    @inject(VersionWriter) private readonly versionWriter: VersionWriter,
    @inject(MemoryCharges) private readonly charges: MemoryCharges,
    @inject(MemoryRecorder) private readonly recorder: MemoryRecorder,
    @inject(TokenCounter) private readonly counter: TokenCounter,
  ) {}

  /**
   * Writes a new version of an object: to the overlay of a view that copies on write, otherwise to the main line. Throws
   * NO_SUCH_OBJECT, IMMUTABLE, VERSION_CONFLICT, BUDGET_EXCEEDED.
   */
  async run(
    caller: Caller,
    pid: Pid,
    ref: unknown,
    payloadInput: unknown,
    options: unknown = {},
  ): Promise<ObjectHandle> {
    const id = parseMemorySpec(refSpec, ref, 'ref');
    const payload = this.payloadParser.parse(payloadInput, 'payload');
    const { ifVersion, history } = parseMemorySpec(updateOptions, options, 'options');
    const counted = this.counter.countPayload(payload);
    const call: Call = { caller, actor: pid, action: 'memory.update', target: pid };
    return this.units.commit(call, async (tx, act) => {
      const accessed = await this.access.authorize(tx, act, pid, id, 'write');
      const { object, authorization } = accessed;
      if (object.immutable) throw immutable(id);
      const target = await this.versionWriter.findTarget(tx, pid, object);
      const { version } = target.before;
      if (ifVersion !== undefined && ifVersion !== version) throw versionConflict(id, ifVersion, version);
      const next = newVersion(version + 1, payload, counted, null, pid, act.at);
      if (history || target.view !== undefined) {
        await this.charges.chargeStored(tx, pid, storedBytesOf(next));
        await this.versionWriter.write(tx, target, next);
      } else {
        const { madeBy, payload: replaced } = target.before;
        const bytes = storedBytesOf({ payload: canonicalJson(replaced) });
        await this.charges.returnStored(tx, new Map([[madeBy, bytes]]));
        await this.charges.chargeStored(tx, pid, storedBytesOf(next));
        await this.objects.replace(tx, id, next);
      }
      this.recorder.recordUpdate(tx, act, pid, id, next, target.view?.n ?? null, authorization);
      return mintHandle(id, rightsOfMask(await this.access.handleRights(tx, accessed)), authorization.capability);
    });
  }
}

function immutable(object: ObjectId): MemoryError {
  return new MemoryError('IMMUTABLE', `Object ${object} was made to stay as it is.`, {
    facts: { object },
    hint: 'Create another one with this one among its sources, or create it with immutable: false.',
  });
}

function versionConflict(object: ObjectId, expected: number, actual: number): MemoryError {
  return new MemoryError('VERSION_CONFLICT', `Object ${object} is at version ${actual}, not ${expected}.`, {
    facts: { object, expected, actual },
    hint: 'Read it again, and repeat the update on what is there now.',
  });
}
