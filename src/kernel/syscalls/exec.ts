import { inject, injectable } from 'inversify';
import { ProcessError } from '../../base/errors.js';
import type { ObjectId } from '../../base/ids.js';
import type { WriteTx } from '../../base/store.js';
import { Grants } from '../../capability/holding/grants.js';
import { RuleGate } from '../../capability/rule/rule-gate.js';
import { ObjectHandle } from '../../memory/object/object-handle.js';
import { ObjectRepository } from '../../memory/object/object-repository.js';
import { ObjectWriter, PayloadParser } from '../../memory/object/object-writer.js';
import type { Act } from '../../unit/act.js';
import type { Caller } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { Units } from '../../unit/units.js';
import { CommandPlans } from '../command/command-plans.js';
import { Spawning } from '../lifecycle/spawning.js';
import { Images, imageReference } from '../process/images.js';
import { isDriven, type ProcessRow } from '../process/process.js';
import { ProcessLookup } from '../process/process-lookup.js';
import { ProcessRepository } from '../process/process-repository.js';
import { RunEntryRepository } from '../process/run-entry-repository.js';
import { saveProcess } from '../process/save-process.js';
import { nextState } from '../process/transitions.js';
import { execSpec, parse, parsePid } from '../specs.js';
import { noSuchObject, type PreparedSpawn, parseArgs, prepareGoal } from './prepare-spawn.js';

@injectable()
export class Exec {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(PayloadParser) private readonly payloads: PayloadParser,
    @inject(Images) private readonly images: Images,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(ObjectRepository) private readonly stored: ObjectRepository,
    @inject(ObjectWriter) private readonly objects: ObjectWriter,
    @inject(Grants) private readonly grants: Grants,
    @inject(RuleGate) private readonly rules: RuleGate,
    @inject(RunEntryRepository) private readonly entries: RunEntryRepository,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(CommandPlans) private readonly plans: CommandPlans,
    @inject(Spawning) private readonly births: Spawning,
  ) {}

  /**
   * Replaces the program: same pid, parent, children, budget used and cwd. Authority shrinks to the process's own
   * namespace unless `preserveCapabilities`. Throws NO_SUCH_IMAGE, CAPABILITY_DENIED, INVALID_TRANSITION, TREE_STOPPING.
   */
  async run(caller: Caller, input: unknown, given: unknown): Promise<void> {
    const pid = parsePid(input);
    const spec = parse(execSpec, given, 'spec', this.payloads.specLimits);
    const image = this.images.resolve(spec.image);
    const args = await parseArgs(image, spec.args);
    const goal = spec.goal === undefined ? undefined : prepareGoal(this.payloads, spec.goal);
    const plan = image.kind === 'command' ? await this.plans.ofImage(image, args, pid) : undefined;
    await this.units.commit({ caller, actor: pid, action: 'process.exec', target: pid }, async (tx, act) => {
      const row = await this.lookup.spawnable(tx, pid);
      if (row.kind === 'command' && isDriven(row)) throw runsAlready(row);
      const approval = await this.rules.check(tx, act, pid, 'spawn', `image:${image.name}`, args);
      // What it runs from here on it has to be allowed by what it held until now.
      if (plan !== undefined) await this.births.command(tx, row.n, plan, await this.births.permitted(tx, act, plan));
      const next: ProcessRow = {
        ...nextState(row, 'exec'),
        kind: image.kind,
        image: imageReference(image),
        args,
        recovery: image.recovery,
        retry: image.retry,
        updatedAt: act.at,
      };
      const authoritySince = spec.preserveCapabilities ? row.authoritySince : next.generation;
      const goalId = goal === undefined ? row.goal : await this.newGoal(tx, act, next, goal, spec.preserveCapabilities);
      const view = spec.preserveMemory ? row.view : await this.objects.createView(tx, pid, goalId);
      await saveProcess(this.processes, tx, { ...next, authoritySince, goal: goalId, view });
      await this.entries.clear(tx, row.n);
      await this.grants.requireAll(tx, pid, image.requires, next.image, act.at);
      this.recorder.record(tx, act, next, {
        event: 'process.execed',
        data: { image: next.image, generation: next.generation },
        action: 'process.exec',
        approval,
        before: row.status,
        after: next.status,
        facts: { image: next.image, from: row.image, generation: next.generation, goal: goalId },
        lineage: true,
      });
    });
  }

  private async newGoal(
    tx: WriteTx,
    act: Act,
    row: ProcessRow,
    given: PreparedSpawn['goal'],
    preserved: boolean,
  ): Promise<ObjectId> {
    if (ObjectHandle.is(given)) return this.givenGoal(tx, act, row, given, preserved);
    const id = this.objects.newId();
    await this.objects.create(tx, row.pid, id, 'goal', given.payload, act.at);
    return id;
  }

  /** A goal given as a handle stays readable: what it was read by ends with its generation, so a reading takes its place. */
  private async givenGoal(
    tx: WriteTx,
    act: Act,
    row: ProcessRow,
    { id }: ObjectHandle,
    preserved: boolean,
  ): Promise<ObjectId> {
    const object = await this.stored.find(tx, id);
    if (object === undefined || object.deletedAt !== null) throw noSuchObject(id);
    const by = (await this.grants.findRead(tx, row.pid, object, 'grant', act.at))?.record;
    if (by === undefined) throw noSuchObject(id);
    if (by.own || preserved) return id;
    const to = { pid: row.pid, generation: row.generation, at: act.at };
    const reading = await this.grants.createReadShare(tx, id, by.id, to);
    const { parent, depth, grantedBy } = by;
    await this.grants.insert(tx, [{ ...reading, parent, depth, grantedBy }]);
    return id;
  }
}

function runsAlready({ pid, kind, status }: ProcessRow): ProcessError {
  return new ProcessError(
    'INVALID_TRANSITION',
    `Process ${pid} is a command that runs: it cannot take another program.`,
    {
      facts: { pid, kind, status, event: 'exec' },
      hint: 'Cancel it, and spawn another process.',
    },
  );
}
