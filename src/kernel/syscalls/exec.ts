import { inject, injectable } from 'inversify';
import { ProcessError } from '../../base/errors.js';
import type { ObjectId, Pid } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import type { ReadTx } from '../../base/store.js';
import type { CapabilityRecord } from '../../capability/holding/capability-record.js';
import { grantFacts, grantPayload } from '../../capability/holding/grant-facts.js';
import { Grants } from '../../capability/holding/grants.js';
import { RuleGate } from '../../capability/rule/rule-gate.js';
import { type NewObject, ObjectHandle } from '../../memory/object/object.js';
import { ObjectWriter, PayloadParser, storedBytesOf } from '../../memory/object/object-writer.js';
import type { Act } from '../../unit/act.js';
import type { Call, Caller } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { OutdatedPreparation, Units } from '../../unit/units.js';
import { Accounts } from '../budget/accounts.js';
import { type CommandPlan, CommandPlans } from '../command/command-ports.js';
import { InheritedEnvironments } from '../command/inherited-environments.js';
import { factsOfSecrets, Spawning } from '../lifecycle/spawning.js';
import { type ImageFacts, Images } from '../process/images.js';
import { isDriven, type ProcessRow } from '../process/process.js';
import { ProcessLookup } from '../process/process-lookup.js';
import { ProcessRepository, saveProcess } from '../process/process-repository.js';
import { RunEntryRepository } from '../process/run-entry-repository.js';
import { ShareableObjects } from '../process/shareable-objects.js';
import { nextState } from '../process/transitions.js';
import { execSpec, parse, parsePid } from '../specs.js';
import { type PreparedSpawn, parseArgs, prepareGoal } from './spawn.js';

@injectable()
export class Exec {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(PayloadParser) private readonly payloads: PayloadParser,
    @inject(Images) private readonly images: Images,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(ShareableObjects) private readonly shareable: ShareableObjects,
    @inject(ObjectWriter) private readonly objects: ObjectWriter,
    @inject(Accounts) private readonly accounts: Accounts,
    @inject(Grants) private readonly grants: Grants,
    @inject(RuleGate) private readonly rules: RuleGate,
    @inject(RunEntryRepository) private readonly entries: RunEntryRepository,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(CommandPlans) private readonly commandPlans: CommandPlans,
    @inject(InheritedEnvironments) private readonly environments: InheritedEnvironments,
    @inject(Spawning) private readonly spawning: Spawning,
  ) {}

  /**
   * Replaces the program: same pid, parent, children, budget used and cwd. Authority shrinks to the process's own
   * namespace unless `preserveCapabilities`. Everything that can refuse is asked before the first row is written. Throws
   * NO_SUCH_IMAGE, CAPABILITY_DENIED, BUDGET_EXCEEDED, NO_SUCH_OBJECT, INVALID_TRANSITION, TREE_STOPPING.
   */
  async run(caller: Caller, input: unknown, rawSpec: unknown): Promise<void> {
    const pid = parsePid(input);
    const spec = parse(execSpec, rawSpec, 'spec', this.payloads.specLimits);
    const image = this.images.resolve(spec.image);
    const args = await parseArgs(image, spec.args);
    const goal = spec.goal === undefined ? undefined : prepareGoal(this.payloads, spec.goal);
    const call: Call = { caller, actor: pid, action: 'process.exec', target: pid };
    const prepare = async (): Promise<PreparedExec> =>
      image.kind === 'command' ? this.planCommand(image, args, pid) : {};
    await this.units.commitPrepared(call, prepare, async (tx, act, { plan, cwd }) => {
      const row = await this.lookup.getSpawnable(tx, pid);
      if (cwd !== undefined && cwd !== row.cwd) throw new OutdatedPreparation(pid);
      if (row.kind === 'command' && isDriven(row)) throw alreadyRunning(row);
      const approval = await this.rules.check(tx, act, pid, 'spawn', `image:${image.name}`, args);
      // The new command is authorized by the capabilities that the process had until now.
      const authorization = plan === undefined ? undefined : await this.spawning.authorizeCommand(tx, act, plan);
      const next: ProcessRow = {
        ...nextState({ ...row, kind: image.kind }, 'exec'),
        image: image.reference,
        args,
        recovery: image.recovery,
        retry: image.retry,
        acknowledgesStop: image.acknowledgesStop || null,
        updatedAt: act.at,
      };
      const { preserveCapabilities } = spec;
      const newGoal = goal === undefined ? undefined : await this.toGoal(tx, act, next, goal, preserveCapabilities);
      const readShare = newGoal?.readShare ?? [];
      if (image.requires.length > 0) {
        const remaining = (await this.grants.findLive(tx, pid, act.at)).filter(
          ({ own }) => own || preserveCapabilities,
        );
        const held = [...remaining, ...readShare];
        this.grants.requireAll(held, image.requires, { pid, image: image.reference, now: act.at });
      }

      const { object } = newGoal ?? {};
      if (object !== undefined) await this.accounts.charge(tx, row, { storedBytes: storedBytesOf(object) });

      if (plan !== undefined) await this.spawning.putCommand(tx, row.n, plan, authorization);
      if (object !== undefined) await this.objects.insert(tx, object);
      if (readShare.length > 0) await this.grants.insert(tx, readShare);
      const goalId = newGoal?.id ?? row.goal;
      const view = spec.preserveMemory ? row.view : await this.objects.createView(tx, pid, goalId);
      const authoritySince = preserveCapabilities ? row.authoritySince : next.generation;
      await saveProcess(this.processes, tx, { ...next, authoritySince, goal: goalId, view });
      await this.entries.clear(tx, row.n);
      this.recorder.record(tx, act, next, {
        event: 'process.execed',
        data: { image: next.image, generation: next.generation },
        action: 'process.exec',
        approval,
        before: row.status,
        after: next.status,
        facts: {
          image: next.image,
          from: row.image,
          generation: next.generation,
          goal: goalId,
          ...(readShare.length === 0 ? {} : grantFacts(readShare, pid)),
          ...factsOfSecrets(authorization?.secrets),
        },
        ...grantPayload(readShare),
        lineage: true,
      });
    });
  }

  private async planCommand(image: ImageFacts, args: JsonValue, pid: Pid): Promise<PreparedExec> {
    const surroundings = await this.environments.ofImage(pid);
    return { plan: this.commandPlans.planImage(image, args, pid, surroundings), cwd: surroundings.cwd };
  }

  /** A goal that is a handle stays readable: the capability that reads it ends with its generation, so another one replaces it. */
  private async toGoal(
    tx: ReadTx,
    act: Act,
    row: ProcessRow,
    goal: PreparedSpawn['goal'],
    preserveCapabilities: boolean,
  ): Promise<ExecGoal> {
    if (!ObjectHandle.is(goal)) {
      const id = this.objects.newId();
      return { id, object: this.objects.prepare(row.pid, id, 'goal', goal.payload, act.at), readShare: [] };
    }
    const object = await this.shareable.get(tx, goal.id);
    const by = await this.shareable.getGrant(tx, row.pid, object, act.at);
    if (by.own || preserveCapabilities) return { id: object.id, readShare: [] };
    const to = { pid: row.pid, generation: row.generation, at: act.at };
    return { id: object.id, readShare: [await this.shareable.createLastingRead(tx, object.id, by, to)] };
  }
}

/** The command of the new image, and the working directory that it was planned for. */
interface PreparedExec {
  readonly plan?: CommandPlan;
  readonly cwd?: string;
}

interface ExecGoal {
  readonly id: ObjectId;
  /** Of a goal that is created as an object of its own. */
  readonly object?: NewObject;
  /** The capability by which a goal that was given as a handle is read from now on, if it needs one. */
  readonly readShare: readonly CapabilityRecord[];
}

function alreadyRunning({ pid, kind, status }: ProcessRow): ProcessError {
  return new ProcessError(
    'INVALID_TRANSITION',
    `Process ${pid} is a command that runs: it cannot take another program.`,
    {
      facts: { pid, kind, status, event: 'exec' },
      hint: 'Cancel it, and spawn another process.',
    },
  );
}
