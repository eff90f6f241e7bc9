import { inject, injectable } from 'inversify';
import { ProcessError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import { Store, type WriteTx } from '../../base/store.js';
import type { CapabilityRecord } from '../../capability/holding/capability-record.js';
import { Grants } from '../../capability/holding/grants.js';
import { parsePattern } from '../../capability/resource/resource.js';
import { RuleGate } from '../../capability/rule/rule-gate.js';
import { isOwnNamespace, ObjectHandle, type ObjectRecord } from '../../memory/object/object.js';
import { ObjectWriter, PayloadParser, storedBytesOf } from '../../memory/object/object-writer.js';
import type { Act } from '../../unit/act.js';
import type { Call, Caller } from '../../unit/caller.js';
import { OutdatedPreparation, Units } from '../../unit/units.js';
import { Accounts } from '../budget/accounts.js';
import type { End } from '../lifecycle/end-plan.js';
import { ProcessEnds } from '../lifecycle/process-ends.js';
import { Images } from '../process/images.js';
import type { Outcome, ProcessRow } from '../process/process.js';
import { ProcessLookup } from '../process/process-lookup.js';
import { ProcessRepository } from '../process/process-repository.js';
import { ShareableObjects } from '../process/shareable-objects.js';
import { nextState } from '../process/transitions.js';
import { exitSpec, parse, parsePid } from '../specs.js';

@injectable()
export class Exit {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Images) private readonly images: Images,
    @inject(Units) private readonly units: Units,
    @inject(PayloadParser) private readonly payloads: PayloadParser,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(ShareableObjects) private readonly shareable: ShareableObjects,
    @inject(ObjectWriter) private readonly objects: ObjectWriter,
    @inject(Accounts) private readonly accounts: Accounts,
    @inject(Grants) private readonly grants: Grants,
    @inject(RuleGate) private readonly rules: RuleGate,
    @inject(ProcessEnds) private readonly processEnds: ProcessEnds,
  ) {}

  /** Ends a process once, with its result. Throws PROCESS_TERMINATED for one that has ended, NO_SUCH_OBJECT. */
  async run(caller: Caller, input: unknown, rawSpec: unknown = {}): Promise<void> {
    const pid = parsePid(input);
    const spec = parse(exitSpec, rawSpec, 'outcome', this.payloads.specLimits);
    const given = this.parseResult(spec.result);
    const outcome: Outcome = {
      kind: spec.failed ? 'failed' : 'completed',
      ...(spec.exitCode === undefined ? {} : { exitCode: spec.exitCode }),
    };
    const call: Call = { caller, actor: 'host', action: 'process.exit', target: pid, actsFor: pid };
    const end = async (tx: WriteTx, act: Act, { result, image }: CheckedResult) => {
      const row = await this.lookup.getLive(tx, pid);
      if (image !== undefined && image !== row.image) throw new OutdatedPreparation(pid);
      const ended = nextState(row, spec.failed ? 'fail' : 'exit');
      const stored = result === undefined ? {} : await this.storeResult(tx, act, row, result);
      await this.processEnds.end(tx, act, {
        row,
        ended,
        outcome,
        action: 'process.exit',
        ...(spec.message === undefined ? {} : { message: spec.message }),
        ...stored,
      });
    };
    // Without a schema nothing comes before the unit: calls end processes in the order in which they are made.
    if (spec.failed || !this.images.hasOutputSchemas)
      await this.units.commit(call, (tx, act) => end(tx, act, { result: given }));
    else await this.units.commitPrepared(call, () => this.validateResult(pid, given), end);
  }

  private parseResult(result: unknown): Result | undefined {
    if (result === undefined || ObjectHandle.is(result)) return result;
    return { value: this.payloads.parse(result, 'outcome.result') };
  }

  /** The result that the output schema of the image gives back, where it has one. Throws INVALID_OUTPUT. */
  private async validateResult(pid: Pid, given: Result | undefined): Promise<CheckedResult> {
    const image = (await this.store.read((tx) => this.processes.find(tx, pid)))?.image;
    const parseOutput = image === undefined ? undefined : this.images.find(image)?.parseOutput;
    if (image === undefined || parseOutput === undefined) return { result: given };
    if (ObjectHandle.is(given)) throw handleAsOutput(image);
    const value = await parseOutput(given?.value);
    return { image, result: value === undefined ? undefined : this.parseResult(value) };
  }

  private async storeResult(
    tx: WriteTx,
    act: Act,
    row: ProcessRow,
    result: Result,
  ): Promise<Pick<End, 'result' | 'shared'>> {
    if (!ObjectHandle.is(result)) {
      const object = this.objects.prepare(row.pid, this.objects.newId(), 'artifact', result.value, act.at);
      await this.objects.insert(tx, object);
      await this.accounts.addStored(tx, row, storedBytesOf(object));
      return { result: object.id };
    }
    const object = await this.shareable.get(tx, result.id);
    const isOwn = isOwnNamespace(row.pid, object.namespace);
    const shared = isOwn ? undefined : await this.shareWithParent(tx, act, row, object);
    return { result: object.id, ...(shared === undefined ? {} : { shared }) };
  }

  /** For a result outside the process's own namespace: it must be able to hand on `read`, and the parent gets no more. */
  private async shareWithParent(
    tx: WriteTx,
    act: Act,
    row: ProcessRow,
    object: ObjectRecord,
  ): Promise<CapabilityRecord | undefined> {
    const by = await this.shareable.getGrant(tx, row.pid, object, act.at);
    const parent = row.parent === null ? undefined : await this.processes.find(tx, row.parent);
    if (parent === undefined) return undefined;
    const handover = { pattern: parsePattern(`object:${object.id}`), rights: ['read'] } as const;
    await this.rules.checkHandover(tx, act, row, parent, handover);
    const to = { pid: parent.pid, generation: parent.generation, at: act.at };
    const record = await this.shareable.createLastingRead(tx, object.id, by, to);
    await this.grants.insert(tx, [record]);
    return record;
  }
}

type Result = ObjectHandle | { readonly value: JsonValue };

interface CheckedResult {
  readonly result: Result | undefined;
  /** The image by whose output schema it was validated. */
  readonly image?: string;
}

function handleAsOutput(image: string): ProcessError {
  const problem = 'is a handle, and the image declares the value of its results';
  return new ProcessError('INVALID_OUTPUT', `The result of image ${image} ${problem}.`, {
    facts: { image, path: 'result', problem },
    hint: 'Return the value itself, or leave the output schema out.',
  });
}
