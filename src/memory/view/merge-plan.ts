import { inject, injectable } from 'inversify';
import { MemoryError, ProcessError } from '../../base/errors.js';
import type { ObjectId, Pid } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import type { ReadTx } from '../../base/store.js';
import { Turns } from '../../base/turns.js';
import { CapabilityRepository, type HolderState } from '../../capability/holding/capability-repository.js';
import { HolderLookup } from '../../capability/holding/holders.js';
import type { CallContext } from '../../capability/rule/rule-gate.js';
import { isOwnNamespace, type NumberedView, type ObjectRecord, type Overlay, type Version } from '../object/object.js';
import { ObjectAccess } from '../object/object-access.js';
import { ObjectRepository } from '../object/object-repository.js';
import { VersionWriter, type WriteTarget } from '../object/version-writer.js';
import { ViewRepository } from './view-repository.js';
import { Views } from './views.js';
import { VisibleVersions } from './visible-versions.js';

/** An object that both sides have changed since the fork. Payloads over 4 KiB are left out; their hashes are given. */
export type MergeConflict = {
  readonly object: ObjectId;
  /** The object at the time of the fork. */
  readonly base: MergeSide;
  /** The object of the parent. */
  readonly ours: MergeSide;
  /** The object of the child. */
  readonly theirs: MergeSide;
  /** With policy `fields`: the JSON pointers of what both sides have changed. */
  readonly paths?: readonly string[];
};

/** One side of a conflict. */
export type MergeSide = {
  readonly version: number;
  readonly hash: string;
  readonly payload?: JsonValue;
};

/**
 * Resolves conflicts: refuse the merge, keep one side, merge both by JSON path against the version at the fork, or compute the
 * merged payload. `fields` refuses the merge where both sides have changed one path.
 */
export type MergePolicy =
  | 'fail'
  | 'ours'
  | 'theirs'
  | 'fields'
  | ((
      base: JsonValue,
      ours: JsonValue,
      theirs: JsonValue,
      at: { readonly object: ObjectId },
    ) => JsonValue | Promise<JsonValue>);

/** The outcome of a merge. */
export interface MergeResult {
  /** Objects that got a new version. */
  readonly merged: readonly ObjectId[];
  /** Objects that the child created and that belong to the parent now. */
  readonly adopted: readonly ObjectId[];
  /** Objects that the child changed and that were not merged. */
  readonly skipped: readonly { readonly object: ObjectId; readonly reason: SkipReason }[];
  /** The conflicts that the policy has resolved; with `fail` and `fields` there are none, since the call throws. */
  readonly conflicts: readonly MergeConflict[];
}

/** Why an object was not merged. */
export type SkipReason = 'no_right' | 'immutable' | 'name_taken' | 'same' | 'deleted';

/** One object that the child has written to its overlay. */
export interface MergeStep {
  readonly target: WriteTarget;
  readonly theirs: Overlay;
  /** The version at the fork; given only where the parent has changed the object since. */
  readonly base: Version | undefined;
}

/** The changes that a merge would make, as of one committed state. */
export interface MergePlan {
  readonly view: NumberedView;
  readonly steps: readonly MergeStep[];
  readonly skipped: MergeResult['skipped'];
  /** Objects that the child created in its own namespaces. */
  readonly childObjects: readonly ObjectRecord[];
}

const payloadBytesShownMax = 4096;

export function isConflict(step: MergeStep): step is MergeStep & { readonly base: Version } {
  return step.base !== undefined;
}

export function toConflict({ target, theirs, base }: MergeStep & { readonly base: Version }): MergeConflict {
  return { object: target.object.id, base: toSide(base), ours: toSide(target.before), theirs: toSide(theirs) };
}

/** Identifies the versions that the policy function was asked about; when it has changed, the function is asked again. */
export function fingerprintOf({ target, theirs, base }: MergeStep): string {
  return [target.object.id, base?.hash, target.before.hash, theirs.hash].join(' ');
}

function toSide({ version, hash, payload }: Version): MergeSide {
  const isShort = Buffer.byteLength(JSON.stringify(payload)) <= payloadBytesShownMax;
  return isShort ? { version, hash, payload } : { version, hash };
}

const pageRows = 500;

/** Plans a merge: compares what a child has written and created with its parent's current state. */
@injectable()
export class MergePlanner {
  constructor(
    @inject(CapabilityRepository) private readonly capabilities: CapabilityRepository,
    @inject(HolderLookup) private readonly holders: HolderLookup,
    @inject(ObjectAccess) private readonly access: ObjectAccess,
    @inject(ObjectRepository) private readonly objects: ObjectRepository,
    @inject(ViewRepository) private readonly viewRepository: ViewRepository,
    @inject(VisibleVersions) private readonly visibleVersions: VisibleVersions,
    @inject(Views) private readonly views: Views,
    @inject(VersionWriter) private readonly versionWriter: VersionWriter,
  ) {}

  /**
   * Undefined when there is nothing to merge: it was merged before, or was dropped. Throws NOT_A_CHILD,
   * INVALID_TRANSITION for a child that has not ended, NOT_FORKED.
   */
  async plan(tx: ReadTx, context: CallContext, pid: Pid, child: Pid): Promise<MergePlan | undefined> {
    const parent = await this.holders.findLive(tx, pid);
    const childState = await this.capabilities.findHolder(tx, child);
    if (childState?.parent !== pid) throw notAChild(pid, child);
    if (childState.live) throw notEnded(child);
    const view = await this.views.find(tx, childState.view);
    if (view === undefined || view.base !== parent.view) throw notForked(pid, child);
    // The writes of a speculative child are dropped unless it succeeded.
    if (view.state !== null || (view.mode === 'ephemeral' && !childState.succeeded)) return undefined;
    const steps: MergeStep[] = [];
    const skipped: { object: string; reason: SkipReason }[] = [];
    const turns = new Turns();
    for (const theirs of await this.viewRepository.overlays(tx, view.n)) {
      await turns.next();
      const step = await this.planStep(tx, context, pid, view, theirs);
      if (typeof step === 'string') skipped.push({ object: theirs.object, reason: step });
      else steps.push(step);
    }
    return { view, steps, skipped, childObjects: await this.findChildObjects(tx, view, child, childState) };
  }

  private async planStep(
    tx: ReadTx,
    context: CallContext,
    pid: Pid,
    view: NumberedView,
    theirs: Overlay,
  ): Promise<MergeStep | SkipReason> {
    const object = await this.objects.find(tx, theirs.object);
    if (object === undefined || object.deletedAt !== null) return 'deleted';
    if (object.immutable) return 'immutable';
    if ((await this.access.tryPreview(tx, context, pid, object.id, 'write')) === undefined) return 'no_right';
    const target = await this.versionWriter.findTarget(tx, pid, object);
    // A side that has returned to its version at the fork counts as unchanged.
    if (target.before.hash === theirs.hash || theirs.hash === theirs.baseHash) return 'same';
    if (target.before.hash === theirs.baseHash) return { target, theirs, base: undefined };
    return { target, theirs, base: (await this.visibleVersions.findAtFork(tx, view, object)).version };
  }

  /** The objects that the child added to its view, and its result, as far as they are in its own namespaces. */
  private async findChildObjects(
    tx: ReadTx,
    view: NumberedView,
    child: Pid,
    { result }: HolderState,
  ): Promise<ObjectRecord[]> {
    const ids = new Set(result === null ? [] : [result]);
    for (let after = '', more = true; more; ) {
      const page = await this.viewRepository.entryStates(tx, view.n, { after, limit: pageRows });
      for (const { object, entryState } of page) if (typeof entryState === 'object') ids.add(object);
      after = page.at(-1)?.object ?? after;
      more = page.length === pageRows;
    }
    const childObjects: ObjectRecord[] = [];
    const turns = new Turns();
    for (const id of ids) {
      await turns.next();
      const object = await this.objects.find(tx, id);
      if (object !== undefined && isOwnNamespace(child, object.namespace) && object.deletedAt === null)
        childObjects.push(object);
    }
    return childObjects;
  }
}

function notAChild(pid: Pid, child: Pid): ProcessError {
  return new ProcessError('NOT_A_CHILD', `Process ${pid} has no child ${JSON.stringify(child)}.`, {
    facts: { pid, child },
    hint: 'A process merges what its own children have written.',
  });
}

function notEnded(child: Pid): ProcessError {
  return new ProcessError('INVALID_TRANSITION', `Process ${child} has not ended: there is nothing to merge yet.`, {
    facts: { pid: child, child },
    hint: 'Wait for it first.',
  });
}

function notForked(pid: Pid, child: Pid): MemoryError {
  return new MemoryError('NOT_FORKED', `The view of ${child} was not forked from that of ${pid}.`, {
    facts: { pid, child },
    hint: 'Only a child made with fork, from the view that its parent still has, can be merged.',
  });
}
