import { inject, injectable } from 'inversify';
import type { ObjectId, Pid } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import type { WriteTx } from '../../base/store.js';
import { Grants } from '../../capability/holding/grants.js';
import { parsePattern } from '../../capability/resource/resource.js';
import { RuleGate } from '../../capability/rule/rule-gate.js';
import { isOwnNamespace } from '../../memory/object/object.js';
import { ObjectHandle } from '../../memory/object/object-handle.js';
import { ObjectRepository } from '../../memory/object/object-repository.js';
import { ObjectWriter, PayloadParser } from '../../memory/object/object-writer.js';
import type { Act } from '../../unit/act.js';
import type { Caller } from '../../unit/caller.js';
import { Units } from '../../unit/units.js';
import { ProcessEnds } from '../lifecycle/process-ends.js';
import type { Outcome, ProcessRow } from '../process/process.js';
import { ProcessLookup } from '../process/process-lookup.js';
import { ProcessRepository } from '../process/process-repository.js';
import { nextState } from '../process/transitions.js';
import { exitSpec, parse, parsePid } from '../specs.js';
import { noSuchObject } from './prepare-spawn.js';

@injectable()
export class Exit {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(PayloadParser) private readonly payloads: PayloadParser,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(ObjectRepository) private readonly stored: ObjectRepository,
    @inject(ObjectWriter) private readonly objects: ObjectWriter,
    @inject(Grants) private readonly grants: Grants,
    @inject(RuleGate) private readonly rules: RuleGate,
    @inject(ProcessEnds) private readonly endings: ProcessEnds,
  ) {}

  /** Ends a process once, with its result. Throws PROCESS_TERMINATED for one that has ended, NO_SUCH_OBJECT. */
  async run(caller: Caller, input: unknown, given: unknown = {}): Promise<void> {
    const pid = parsePid(input);
    const spec = parse(exitSpec, given, 'outcome', this.payloads.specLimits);
    const result = this.result(spec.result);
    const outcome: Outcome = {
      kind: spec.failed ? 'failed' : 'completed',
      ...(spec.exitCode === undefined ? {} : { exitCode: spec.exitCode }),
    };
    await this.units.commit({ caller, actor: 'host', action: 'process.exit', target: pid }, async (tx, act) => {
      const row = await this.lookup.live(tx, pid);
      const ended = nextState(row, spec.failed ? 'fail' : 'exit');
      const object = result === undefined ? undefined : await this.store(tx, act, row, result);
      await this.endings.end(tx, act, {
        row,
        ended,
        outcome,
        action: 'process.exit',
        ...(spec.message === undefined ? {} : { message: spec.message }),
        ...(object === undefined ? {} : { result: object }),
      });
    });
  }

  private result(given: unknown): Result | undefined {
    if (given === undefined || ObjectHandle.is(given)) return given;
    return { value: this.payloads.parse(given, 'outcome.result') };
  }

  private async store(tx: WriteTx, act: Act, row: ProcessRow, result: Result): Promise<ObjectId> {
    if (!ObjectHandle.is(result)) {
      const id = this.objects.newId();
      await this.objects.create(tx, row.pid, id, 'artifact', result.value, act.at);
      return id;
    }
    const object = await this.stored.find(tx, result.id);
    if (object === undefined || object.deletedAt !== null) throw noSuchObject(result.id);
    if (!isOwnNamespace(row.pid, object.namespace)) await this.handUp(tx, act, row, object);
    return object.id;
  }

  /** A result that is not the process's own needs `grant` for reading it, and the parent gets reading and no more. */
  private async handUp(
    tx: WriteTx,
    act: Act,
    row: ProcessRow,
    object: { id: ObjectId; namespace: string },
  ): Promise<void> {
    const by = (await this.grants.findRead(tx, row.pid, object, 'grant', act.at))?.record;
    if (by === undefined) throw noSuchObject(object.id);
    const parent = row.parent === null ? undefined : await this.processes.find(tx, row.parent as Pid);
    if (parent === undefined) return;
    const gift = { pattern: parsePattern(`object:${object.id}`), rights: ['read'] } as const;
    await this.rules.checkHandover(tx, act, row, parent, gift);
    const to = { pid: parent.pid, generation: parent.generation, at: act.at };
    // What the process read it by ends with it: the parent reads by what stands above that, within the same limits.
    const reading = await this.grants.createReadShare(tx, object.id, by.id, to);
    await this.grants.insert(tx, [{ ...reading, parent: by.parent, depth: by.depth, grantedBy: by.grantedBy }]);
  }
}

type Result = ObjectHandle | { readonly value: JsonValue };
