import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import { errorText } from '../../base/error-text.js';
import { invalidInput, KernelError, MemoryError } from '../../base/errors.js';
import type { ObjectId, Pid } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import { Store, type WriteTx } from '../../base/store.js';
import { CapabilityRepository } from '../../capability/holding/capability-repository.js';
import { RevocationSweep } from '../../capability/holding/revocation-sweep.js';
import { Revocations } from '../../capability/holding/revocations.js';
import type { Act } from '../../unit/act.js';
import type { Call, Caller } from '../../unit/caller.js';
import { Units } from '../../unit/units.js';
import { MemoryRecorder } from '../memory-recorder.js';
import { handedNamespace, namespaceOf, type ObjectRecord } from '../object/object.js';
import { ObjectRepository } from '../object/object-repository.js';
import { newVersion } from '../object/objects.js';
import { VersionWriter } from '../object/version-writer.js';
import { Payloads } from '../payloads.js';
import {
  fingerprint,
  isConflict,
  type MergePlan,
  type MergePolicy,
  type MergeResult,
  type MergeStep,
  toConflict,
} from '../view/merge-plan.js';
import { MergePlanner } from '../view/merge-planner.js';
import { ViewRepository } from '../view/view-repository.js';

const tries = 3;
const empty: MergeResult = { merged: [], adopted: [], skipped: [], conflicts: [] };

@injectable()
export class MergeChild {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(Units) private readonly units: Units,
    @inject(Payloads) private readonly payloads: Payloads,
    @inject(MergePlanner) private readonly planner: MergePlanner,
    @inject(CapabilityRepository) private readonly capabilities: CapabilityRepository,
    @inject(ObjectRepository) private readonly objects: ObjectRepository,
    @inject(ViewRepository) private readonly views: ViewRepository,
    @inject(VersionWriter) private readonly writing: VersionWriter,
    @inject(Revocations) private readonly revocations: Revocations,
    @inject(RevocationSweep) private readonly sweep: RevocationSweep,
    @inject(MemoryRecorder) private readonly journal: MemoryRecorder,
  ) {}

  /**
   * Brings back what an ended child has written and made, all of it or nothing. Throws MERGE_CONFLICT with policy `fail`,
   * NOT_A_CHILD, INVALID_TRANSITION, NOT_FORKED, MERGE_FAILED for a function that fails, CONFLICT when what it was asked
   * about changes again and again.
   */
  async run(caller: Caller, pid: Pid, child: Pid, policy: MergePolicy = 'fail'): Promise<MergeResult> {
    assertPolicy(policy);
    const call: Call = { caller, actor: pid, action: 'memory.merge', target: child };
    for (let attempt = 1; ; attempt++) {
      const answers = typeof policy === 'function' ? await this.asked(caller, pid, child, policy) : new Map();
      const result = await this.units.commit(call, async (tx, act) => {
        const plan = await this.planner.plan(tx, act, pid, child);
        if (plan === undefined) return empty;
        const conflicts = plan.steps.filter(isConflict);
        if (policy === 'fail' && conflicts.length > 0) throw mergeConflict(pid, child, plan);
        if (typeof policy === 'function' && conflicts.some((step) => !answers.has(fingerprint(step)))) return undefined;
        return this.carryOut(tx, act, pid, child, plan, (step) => settled(policy, answers, step));
      });
      if (result !== undefined) {
        await this.sweep.start();
        return result;
      }
      if (attempt === tries) throw changing(pid, child);
    }
  }

  /** The answers of a caller's function, outside of any unit: it may take its time. */
  private async asked(
    caller: Caller,
    pid: Pid,
    child: Pid,
    policy: Extract<MergePolicy, (...args: never[]) => unknown>,
  ): Promise<Map<string, JsonValue>> {
    const asking = { via: caller.face, at: this.clock.peek() };
    const plan = await this.store.read((tx) => this.planner.plan(tx, asking, pid, child));
    const answers = new Map<string, JsonValue>();
    for (const step of plan?.steps.filter(isConflict) ?? []) {
      const object = step.place.object.id;
      try {
        const answer = await policy(step.base.payload, step.place.before.payload, step.theirs.payload, { object });
        answers.set(fingerprint(step), this.payloads.copied(answer, 'policy'));
      } catch (error) {
        throw error instanceof KernelError ? error : policyFailed(object, error);
      }
    }
    return answers;
  }

  private async carryOut(
    tx: WriteTx,
    act: Act,
    pid: Pid,
    child: Pid,
    plan: MergePlan,
    settle: (step: MergeStep) => JsonValue | undefined,
  ): Promise<MergeResult> {
    const merged: ObjectId[] = [];
    for (const step of plan.steps) {
      const payload = isConflict(step) ? settle(step) : step.theirs.payload;
      if (payload === undefined) continue;
      const { place, theirs } = step;
      const source = { object: place.object.id, version: theirs.version, view: plan.view.n };
      await this.writing.write(tx, place, newVersion(place.before.version + 1, payload, [source], pid, act.at));
      merged.push(place.object.id);
    }
    const taken = await this.adopt(tx, pid, child, plan.made);
    await this.views.setState(tx, plan.view.n, 'merged');
    await this.release(tx, act, pid, child);
    const adopted = plan.made.map(({ id }) => id);
    const skipped = [...plan.skipped, ...taken.map((object) => ({ object, reason: 'name_taken' as const }))];
    const conflicts = plan.steps.filter(isConflict).map(toConflict);
    const data = { child, merged: merged.length, adopted: adopted.length };
    const told = { event: 'view.merged', data, action: 'memory.merge' } as const;
    const facts = { child, merged, adopted, skipped: skipped.map((one) => ({ ...one })) };
    this.journal.did(tx, act, pid, told, { capability: 'kin', generation: await this.generation(tx, pid) }, facts);
    return { merged, adopted, skipped, conflicts };
  }

  /** What the child made in its own namespaces moves to the parent's; answers with those whose name was taken there. */
  private async adopt(tx: WriteTx, pid: Pid, child: Pid, made: readonly ObjectRecord[]): Promise<ObjectId[]> {
    const taken: ObjectId[] = [];
    const [own] = (await this.capabilities.heldOn(tx, pid, [`ns:${namespaceOf(pid)}/**`])).filter(({ own }) => own);
    const view = (await this.capabilities.holder(tx, pid))?.view;
    for (const { id, name, namespace: from } of made) {
      const namespace = handedNamespace(from, child, pid);
      const isTaken = name !== null && (await this.objects.named(tx, namespace, name)) !== undefined;
      if (isTaken) taken.push(id);
      await this.objects.move(tx, id, { namespace, name: isTaken ? null : name });
      if (own === undefined || view === undefined) continue;
      await this.views.addEntry(tx, view, { object: id, capability: own.id, rights: own.rights });
    }
    return taken;
  }

  /** What the parent could read of the child until now it can no longer: what was worth keeping is its own. */
  private async release(tx: WriteTx, act: Act, pid: Pid, child: Pid): Promise<void> {
    for (const record of await this.capabilities.heldOn(tx, pid, [`ns:${namespaceOf(child)}/**`])) {
      if (record.status !== 'live' || record.grantedBy !== child) continue;
      await this.revocations.revoke(tx, act, record);
    }
  }

  private async generation(tx: WriteTx, pid: Pid): Promise<number> {
    return (await this.capabilities.holder(tx, pid))?.generation ?? 0;
  }
}

/** The payload that a conflict ends with; undefined keeps what the parent has. */
function settled(policy: MergePolicy, answers: Map<string, JsonValue>, step: MergeStep): JsonValue | undefined {
  if (policy === 'theirs') return step.theirs.payload;
  return typeof policy === 'function' ? answers.get(fingerprint(step)) : undefined;
}

function assertPolicy(policy: unknown): void {
  if (typeof policy === 'function' || policy === 'fail' || policy === 'ours' || policy === 'theirs') return;
  throw invalidInput('policy', 'is not a policy', "Give 'fail', 'ours', 'theirs' or a function.");
}

function mergeConflict(pid: Pid, child: Pid, { steps }: MergePlan): MemoryError {
  const both = steps.filter(isConflict);
  const conflicts = both.slice(0, 20).map(toConflict);
  return new MemoryError('MERGE_CONFLICT', `${child} and ${pid} have both changed ${both.length} objects.`, {
    facts: { pid, child, conflicts },
    hint: "Merge again with the policy 'ours', 'theirs' or a function; nothing was changed.",
  });
}

function changing(pid: Pid, child: Pid): MemoryError {
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
