import { inject, injectable } from 'inversify';
import type { z } from 'zod';
import { Commitments } from '../../base/commitments.js';
import { ProcessError } from '../../base/errors.js';
import type { ObjectId, Pid } from '../../base/ids.js';
import type { JsonObject, JsonValue } from '../../base/json.js';
import type { ReadTx } from '../../base/store.js';
import {
  type CapabilityRecord,
  grantFacts,
  grantPayload,
  type Receiver,
} from '../../capability/holding/capability-record.js';
import { Grants } from '../../capability/holding/grants.js';
import { maskOfRights } from '../../capability/resource/rights.js';
import { RuleGate } from '../../capability/rule/rule-gate.js';
import { type NewObject, ObjectHandle, type ViewEntry } from '../../memory/object/object.js';
import { ObjectWriter, PayloadParser, storedBytesOf } from '../../memory/object/object-writer.js';
import { LastingReads } from '../../memory/view/lasting-reads.js';
import { Views } from '../../memory/view/views.js';
import type { Act } from '../../unit/act.js';
import type { Call, Caller } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { OutdatedPreparation, Units } from '../../unit/units.js';
import { Accounts, limitsOf } from '../budget/accounts.js';
import { type CommandPlan, CommandPlans } from '../command/command-ports.js';
import { InheritedEnvironments } from '../command/inherited-environments.js';
import { changedFlags, programFacts, programPayload } from '../lifecycle/program-facts.js';
import { factsOfSecrets, Spawning } from '../lifecycle/spawning.js';
import { type ImageFacts, Images, withImageReference } from '../process/images.js';
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
    @inject(LastingReads) private readonly lastingReads: LastingReads,
    @inject(Views) private readonly views: Views,
    @inject(Accounts) private readonly accounts: Accounts,
    @inject(Grants) private readonly grants: Grants,
    @inject(RuleGate) private readonly rules: RuleGate,
    @inject(RunEntryRepository) private readonly entries: RunEntryRepository,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(CommandPlans) private readonly commandPlans: CommandPlans,
    @inject(InheritedEnvironments) private readonly environments: InheritedEnvironments,
    @inject(Spawning) private readonly spawning: Spawning,
    @inject(Commitments) private readonly commitments: Commitments,
  ) {}

  /**
   * Replaces the program: same pid, parent, children, budget used and cwd. Authority shrinks to the process's own
   * namespace, and to reading and materializing what stays in its view, unless `preserveCapabilities`. Everything that can refuse is asked before the first row is written. Throws
   * NO_SUCH_IMAGE, CAPABILITY_DENIED, BUDGET_EXCEEDED, NO_SUCH_OBJECT, INVALID_TRANSITION, TREE_STOPPING.
   */
  async run(caller: Caller, input: unknown, rawSpec: unknown): Promise<void> {
    const pid = parsePid(input);
    const spec = parse(execSpec, withImageReference(this.images, rawSpec), 'spec', this.payloads.specLimits);
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
      const { preserveCapabilities, preserveMemory } = spec;
      const lasting = preserveMemory && !preserveCapabilities ? await this.keepReading(tx, act, next, goal) : [];
      const newGoal =
        goal === undefined ? undefined : await this.toGoal(tx, act, next, goal, preserveCapabilities, lasting);
      const successors = [...lasting, ...(newGoal?.readShare ?? [])];
      if (image.requires.length > 0) {
        const remaining = (await this.grants.findLive(tx, pid, act.at)).filter(
          ({ own }) => own || preserveCapabilities,
        );
        const held = [...remaining, ...successors];
        this.grants.requireAll(held, image.requires, { pid, image: image.reference, now: act.at });
      }

      const { object } = newGoal ?? {};
      if (object !== undefined) await this.accounts.charge(tx, row, { storedBytes: storedBytesOf(object) });

      if (plan !== undefined) await this.spawning.putCommand(tx, row.n, plan, authorization);
      if (object !== undefined) await this.objects.insert(tx, object);
      if (successors.length > 0) await this.grants.insert(tx, successors);
      const goalId = newGoal?.id ?? row.goal;
      const view = preserveMemory ? row.view : await this.objects.createView(tx, pid, goalId);
      if (preserveMemory && newGoal !== undefined) await this.views.replaceGoal(tx, view, row.goal, newGoal.entry);
      const authoritySince = preserveCapabilities ? row.authoritySince : next.generation;
      await saveProcess(this.processes, tx, { ...next, authoritySince, goal: goalId, view });
      await this.entries.clear(tx, row.n);
      const payload = { ...grantPayload(successors).payload, ...programPayload(next) };
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
          ...programFacts(
            next,
            { budget: limitsOf(await this.accounts.get(tx, row.n)), flags: flagsOf(spec) },
            this.commitments,
          ),
          ...(successors.length === 0 ? {} : grantFacts(successors, pid)),
          ...factsOfSecrets(authorization?.secrets),
        },
        ...(Object.keys(payload).length === 0 ? {} : { payload }),
        lineage: true,
      });
    });
  }

  private async planCommand(image: ImageFacts, args: JsonValue, pid: Pid): Promise<PreparedExec> {
    const surroundings = await this.environments.ofImage(pid);
    return { plan: this.commandPlans.planImage(image, args, pid, surroundings), cwd: surroundings.cwd };
  }

  /** What the process goes on reading of its view, but for a goal that is replaced. */
  private keepReading(
    tx: ReadTx,
    act: Act,
    row: ProcessRow,
    goal: PreparedSpawn['goal'] | undefined,
  ): Promise<CapabilityRecord[]> {
    const isReplaced = goal !== undefined && !(ObjectHandle.is(goal) && goal.id === row.goal);
    return this.lastingReads.createFor(tx, row.view, receiverOf(act, row), isReplaced ? row.goal : undefined);
  }

  /**
   * A goal that is a handle stays readable: the capability that reads it ends with its generation, so another one replaces
   * it, unless one of `lasting` does.
   */
  private async toGoal(
    tx: ReadTx,
    act: Act,
    row: ProcessRow,
    goal: PreparedSpawn['goal'],
    preserveCapabilities: boolean,
    lasting: readonly CapabilityRecord[],
  ): Promise<ExecGoal> {
    if (!ObjectHandle.is(goal)) {
      const id = this.objects.newId();
      const object = this.objects.prepare(row.pid, id, 'goal', goal.payload, act.at);
      return { id, object, readShare: [], entry: toEntry(id, await this.grants.getOwn(tx, row.pid)) };
    }
    const object = await this.shareable.get(tx, goal.id);
    const by = await this.shareable.getGrant(tx, row.pid, object, act.at);
    if (by.own || preserveCapabilities) return { id: object.id, readShare: [], entry: toEntry(object.id, by) };
    const resource = `object:${object.id}`;
    const kept = lasting.find((record) => record.resource === resource && (record.rights & readMask) !== 0);
    if (kept !== undefined) return { id: object.id, readShare: [], entry: toEntry(object.id, kept) };
    const share = await this.shareable.createLastingRead(tx, object.id, by, receiverOf(act, row));
    return { id: object.id, readShare: [share], entry: toEntry(object.id, share) };
  }
}

const readMask = maskOfRights(['read']);

function receiverOf({ at }: Act, { pid, generation }: ProcessRow): Receiver {
  return { pid, generation, at };
}

function toEntry(object: ObjectId, { id: capability, rights }: CapabilityRecord): ViewEntry {
  return { object, capability, rights };
}

/** The command of the new image, and the working directory that it was planned for. */
interface PreparedExec {
  readonly plan?: CommandPlan;
  readonly cwd?: string;
}

interface ExecGoal {
  readonly id: ObjectId;
  /** By which it stands in the view. */
  readonly entry: ViewEntry;
  /** Of a goal that is created as an object of its own. */
  readonly object?: NewObject;
  /** The capability by which a goal that was given as a handle is read from now on, if it needs one. */
  readonly readShare: readonly CapabilityRecord[];
}

function flagsOf({ preserveMemory, preserveCapabilities }: z.output<typeof execSpec>): JsonObject {
  return changedFlags({ preserveMemory, preserveCapabilities }, { preserveMemory: true, preserveCapabilities: false });
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
