import { isDeepStrictEqual } from 'node:util';
import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import { errorText, invalidInput, KernelError, MemoryError } from '../../base/errors.js';
import type { ObjectId, Pid } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import { Store, type WriteTx } from '../../base/store.js';
import { Turns } from '../../base/turns.js';
import { CapabilityRepository } from '../../capability/holding/capability-repository.js';
import { RevocationSweep } from '../../capability/holding/revocation-sweep.js';
import { Revocations } from '../../capability/holding/revocations.js';
import type { Act } from '../../unit/act.js';
import type { Call, Caller } from '../../unit/caller.js';
import { Units } from '../../unit/units.js';
import { MemoryCharges } from '../memory-charges.js';
import { MemoryRecorder } from '../memory-recorder.js';
import { correspondingNamespace, namespaceOf, type ObjectRecord } from '../object/object.js';
import { ObjectRepository } from '../object/object-repository.js';
import { newVersion, PayloadParser, storedBytesOf } from '../object/object-writer.js';
import { VersionWriter } from '../object/version-writer.js';
import { TokenCounter } from '../tokens/token-counter.js';
import { mergeFields } from '../view/merge-fields.js';
import {
  fingerprintOf,
  isConflict,
  type MergeConflict,
  type MergePlan,
  MergePlanner,
  type MergePolicy,
  type MergeResult,
  type MergeStep,
  toConflict,
} from '../view/merge-plan.js';
import { ViewRepository } from '../view/view-repository.js';

const attemptsMax = 3;
const conflictsShownMax = 20;
const pathsShownMax = 100;
const empty: MergeResult = { merged: [], adopted: [], skipped: [], conflicts: [] };

@injectable()
export class MergeChild {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(Units) private readonly units: Units,
    @inject(PayloadParser) private readonly payloadParser: PayloadParser,
    @inject(MergePlanner) private readonly planner: MergePlanner,
    @inject(CapabilityRepository) private readonly capabilities: CapabilityRepository,
    @inject(ObjectRepository) private readonly objects: ObjectRepository,
    @inject(ViewRepository) private readonly views: ViewRepository,
    @inject(VersionWriter) private readonly versionWriter: VersionWriter,
    @inject(Revocations) private readonly revocations: Revocations,
    @inject(RevocationSweep) private readonly sweep: RevocationSweep,
    @inject(MemoryCharges) private readonly charges: MemoryCharges,
    @inject(MemoryRecorder) private readonly recorder: MemoryRecorder,
    @inject(TokenCounter) private readonly counter: TokenCounter,
  ) {}

  /**
   * Merges what an ended child has written and created into its parent, all of it or nothing. Throws MERGE_CONFLICT with
   * policies `fail` and `fields`, NOT_A_CHILD, INVALID_TRANSITION, NOT_FORKED, MERGE_FAILED for a policy function that fails, CONFLICT when
   * the conflicts changed in every attempt while the function ran.
   */
  async run(caller: Caller, pid: Pid, child: Pid, policy: MergePolicy = 'fail'): Promise<MergeResult> {
    assertPolicy(policy);
    const call: Call = { caller, actor: pid, action: 'memory.merge', target: child };
    for (let attempt = 1; ; attempt++) {
      const answers = typeof policy === 'function' ? await this.askPolicy(caller, pid, child, policy) : new Map();
      const result = await this.units.commit(call, async (tx, act) => {
        const planned = await this.planner.plan(tx, act, pid, child);
        if (planned === undefined) return empty;
        const plan = policy === 'fields' ? await this.mergeByFields(planned, pid, child) : planned;
        const conflicts = plan.steps.filter(isConflict);
        if (policy === 'fail' && conflicts.length > 0) throw mergeConflict(pid, child, conflicts.map(toConflict));
        if (typeof policy === 'function' && conflicts.some((step) => !answers.has(fingerprintOf(step))))
          return undefined;
        return this.apply(tx, act, pid, child, plan, (step) => resolveConflict(policy, answers, step));
      });
      if (result !== undefined) {
        await this.sweep.start();
        return result;
      }
      if (attempt === attemptsMax) throw changedMeanwhile(pid, child);
    }
  }

  /** The plan without conflicts: each is merged by fields. Throws MERGE_CONFLICT with the paths that both have changed. */
  private async mergeByFields(plan: MergePlan, pid: Pid, child: Pid): Promise<MergePlan> {
    const steps: MergeStep[] = [];
    const skipped = [...plan.skipped];
    const conflicts: MergeConflict[] = [];
    const turns = new Turns();
    for (const step of plan.steps) {
      await turns.next();
      if (!isConflict(step)) {
        steps.push(step);
        continue;
      }
      const { target, theirs, base } = step;
      const result = mergeFields(base.payload, target.before.payload, theirs.payload);
      if ('paths' in result) conflicts.push({ ...toConflict(step), paths: result.paths.slice(0, pathsShownMax) });
      else if (isDeepStrictEqual(result.value, target.before.payload))
        skipped.push({ object: target.object.id, reason: 'same' });
      else {
        const payload = this.payloadParser.parse(result.value, `merge of ${target.object.id}`);
        steps.push({ target, theirs: { ...theirs, payload, isCounted: false }, base: undefined });
      }
    }
    if (conflicts.length > 0) throw mergeConflict(pid, child, conflicts);
    return { ...plan, steps, skipped };
  }

  /** The answers of the policy function by fingerprint. Runs outside of any unit, because the function may take long. */
  private async askPolicy(
    caller: Caller,
    pid: Pid,
    child: Pid,
    policy: Extract<MergePolicy, (...args: never[]) => unknown>,
  ): Promise<Map<string, JsonValue>> {
    const context = { via: caller.face, at: this.clock.peek() };
    const plan = await this.store.read((tx) => this.planner.plan(tx, context, pid, child));
    const answers = new Map<string, JsonValue>();
    for (const step of plan?.steps.filter(isConflict) ?? []) {
      const object = step.target.object.id;
      try {
        const answer = await policy(step.base.payload, step.target.before.payload, step.theirs.payload, { object });
        answers.set(fingerprintOf(step), this.payloadParser.parse(answer, 'policy'));
      } catch (error) {
        throw error instanceof KernelError ? error : policyFailed(object, error);
      }
    }
    return answers;
  }

  private async apply(
    tx: WriteTx,
    act: Act,
    pid: Pid,
    child: Pid,
    plan: MergePlan,
    resolve: (step: MergeStep) => JsonValue | undefined,
  ): Promise<MergeResult> {
    const merged: ObjectId[] = [];
    let storedBytes = 0;
    const turns = new Turns();
    for (const step of plan.steps) {
      await turns.next();
      const payload = isConflict(step) ? resolve(step) : step.theirs.payload;
      if (payload === undefined) continue;
      const { target, theirs } = step;
      const source = { object: target.object.id, version: theirs.version, view: plan.view.n };
      const isTheirs = payload === theirs.payload && theirs.isCounted;
      const counted = isTheirs ? theirs : this.counter.countPayload(payload);
      const next = newVersion(target.before.version + 1, payload, counted, [source], pid, act.at);
      await this.versionWriter.write(tx, target, next);
      storedBytes += storedBytesOf(next);
      merged.push(target.object.id);
    }
    await this.charges.addStored(tx, pid, storedBytes);
    const nameTaken = await this.adopt(tx, pid, child, plan.childObjects);
    await this.views.setState(tx, plan.view.n, 'merged');
    await this.revokeFromParent(tx, act, pid, child);
    const adopted = plan.childObjects.map(({ id }) => id);
    const skipped = [...plan.skipped, ...nameTaken.map((object) => ({ object, reason: 'name_taken' as const }))];
    const conflicts = plan.steps.filter(isConflict).map(toConflict);
    const data = { child, merged: merged.length, adopted: adopted.length };
    const change = { event: 'view.merged', data, action: 'memory.merge' } as const;
    const facts = { child, merged, adopted, skipped: skipped.map((skip) => ({ ...skip })) };
    const authority = { capability: 'kin', generation: await this.generationOf(tx, pid) } as const;
    this.recorder.recordChange(tx, act, pid, change, authority, facts);
    return { merged, adopted, skipped, conflicts };
  }

  /** Moves the child's objects to the parent's namespaces. Returns those that lost their name, because it was taken there. */
  private async adopt(tx: WriteTx, pid: Pid, child: Pid, childObjects: readonly ObjectRecord[]): Promise<ObjectId[]> {
    const nameTaken: ObjectId[] = [];
    const [own] = (await this.capabilities.findByResource(tx, pid, [`ns:${namespaceOf(pid)}/**`])).filter(
      ({ own }) => own,
    );
    const view = (await this.capabilities.findHolder(tx, pid))?.view;
    const turns = new Turns();
    for (const { id, name, namespace: from } of childObjects) {
      await turns.next();
      const namespace = correspondingNamespace(from, child, pid);
      const isTaken = name !== null && (await this.objects.findByName(tx, namespace, name)) !== undefined;
      if (isTaken) nameTaken.push(id);
      await this.objects.move(tx, id, { namespace, name: isTaken ? null : name });
      if (own === undefined || view === undefined) continue;
      await this.views.addEntry(tx, view, { object: id, capability: own.id, rights: own.rights });
    }
    return nameTaken;
  }

  /** Revokes what the child granted the parent on its namespaces: what was merged belongs to the parent now. */
  private async revokeFromParent(tx: WriteTx, act: Act, pid: Pid, child: Pid): Promise<void> {
    for (const record of await this.capabilities.findByResource(tx, pid, [`ns:${namespaceOf(child)}/**`])) {
      if (record.status !== 'live' || record.grantedBy !== child) continue;
      await this.revocations.revoke(tx, act, record);
    }
  }

  private async generationOf(tx: WriteTx, pid: Pid): Promise<number> {
    return (await this.capabilities.findHolder(tx, pid))?.generation ?? 0;
  }
}

/** The payload that resolves a conflict; undefined keeps the parent's. */
function resolveConflict(policy: MergePolicy, answers: Map<string, JsonValue>, step: MergeStep): JsonValue | undefined {
  if (policy === 'theirs') return step.theirs.payload;
  return typeof policy === 'function' ? answers.get(fingerprintOf(step)) : undefined;
}

function assertPolicy(policy: unknown): void {
  if (typeof policy === 'function' || policies.has(policy)) return;
  throw invalidInput('policy', 'is not a policy', "Give 'fail', 'ours', 'theirs', 'fields' or a function.");
}

const policies: ReadonlySet<unknown> = new Set(['fail', 'ours', 'theirs', 'fields']);

function mergeConflict(pid: Pid, child: Pid, conflicts: readonly MergeConflict[]): MemoryError {
  return new MemoryError('MERGE_CONFLICT', `${child} and ${pid} have both changed ${conflicts.length} objects.`, {
    facts: { pid, child, conflicts: conflicts.slice(0, conflictsShownMax) },
    hint: "Merge again with the policy 'ours', 'theirs', 'fields' or a function; nothing was changed.",
  });
}

function changedMeanwhile(pid: Pid, child: Pid): MemoryError {
  return new MemoryError('CONFLICT', `What ${pid} would merge changed while the policy was asked.`, {
    facts: { pid, child },
    hint: 'Repeat the call.',
    retryable: true,
  });
}

function policyFailed(object: ObjectId, error: unknown): MemoryError {
  return new MemoryError('MERGE_FAILED', `The policy failed on ${object}: ${errorText(error)}`, {
    facts: { object },
    hint: 'Mend the function; nothing was changed.',
  });
}
