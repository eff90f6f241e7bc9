import { inject, injectable } from 'inversify';
import { MemoryError, ProcessError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import type { ReadTx } from '../../base/store.js';
import { CapabilityRepository, type HolderState } from '../../capability/holding/capability-repository.js';
import { HolderLookup } from '../../capability/holding/holders.js';
import type { Asking } from '../../capability/rule/rule-gate.js';
import { isOwnNamespace, type NumberedView, type ObjectRecord, type Overlay } from '../object/object.js';
import { ObjectAccess } from '../object/object-access.js';
import { ObjectRepository } from '../object/object-repository.js';
import { VersionWriter } from '../object/version-writer.js';
import type { MergePlan, MergeResult, MergeStep } from './merge-plan.js';
import { ViewRepository } from './view-repository.js';
import { Views } from './views.js';
import { VisibleVersions } from './visible-versions.js';

const pageRows = 500;

/** Compares what a child has written and made with what its parent has now. */
@injectable()
export class MergePlanner {
  constructor(
    @inject(CapabilityRepository) private readonly capabilities: CapabilityRepository,
    @inject(HolderLookup) private readonly holders: HolderLookup,
    @inject(ObjectAccess) private readonly access: ObjectAccess,
    @inject(ObjectRepository) private readonly objects: ObjectRepository,
    @inject(ViewRepository) private readonly rows: ViewRepository,
    @inject(VisibleVersions) private readonly shown: VisibleVersions,
    @inject(Views) private readonly views: Views,
    @inject(VersionWriter) private readonly writing: VersionWriter,
  ) {}

  /**
   * Undefined when there is nothing to bring back: it was merged before, or dropped. Throws NOT_A_CHILD,
   * INVALID_TRANSITION for a child that has not ended, NOT_FORKED.
   */
  async plan(tx: ReadTx, asking: Asking, pid: Pid, child: Pid): Promise<MergePlan | undefined> {
    const parent = await this.holders.live(tx, pid);
    const ended = await this.capabilities.holder(tx, child);
    if (ended?.parent !== pid) throw notAChild(pid, child);
    if (ended.live) throw notEnded(child);
    const view = await this.views.find(tx, ended.view);
    if (view === undefined || view.base !== parent.view) throw notForked(pid, child);
    // What a speculative child has written is gone unless it succeeded.
    if (view.state !== null || (view.mode === 'ephemeral' && !ended.succeeded)) return undefined;
    const steps: MergeStep[] = [];
    const skipped: { object: string; reason: MergeResult['skipped'][number]['reason'] }[] = [];
    for (const theirs of await this.rows.overlays(tx, view.n)) {
      const step = await this.step(tx, asking, pid, view, theirs);
      if (typeof step === 'string') skipped.push({ object: theirs.object, reason: step });
      else steps.push(step);
    }
    return { view, steps, skipped, made: await this.made(tx, view, child, ended) };
  }

  private async step(
    tx: ReadTx,
    asking: Asking,
    pid: Pid,
    view: NumberedView,
    theirs: Overlay,
  ): Promise<MergeStep | MergeResult['skipped'][number]['reason']> {
    const object = await this.objects.find(tx, theirs.object);
    if (object === undefined || object.deletedAt !== null) return 'deleted';
    if (object.immutable) return 'immutable';
    if ((await this.access.tried(tx, asking, pid, object.id, 'write')) === undefined) return 'no_right';
    const place = await this.writing.place(tx, pid, object);
    // Either side may have gone back to what it was at the fork: then only the other one has changed it.
    if (place.before.hash === theirs.hash || theirs.hash === theirs.baseHash) return 'same';
    if (place.before.hash === theirs.baseHash) return { place, theirs, base: undefined };
    return { place, theirs, base: (await this.shown.forked(tx, view, object)).version };
  }

  /** What it put into its view and its result, as far as they lie in its own namespaces. */
  private async made(tx: ReadTx, view: NumberedView, child: Pid, { result }: HolderState): Promise<ObjectRecord[]> {
    const ids = new Set(result === null ? [] : [result]);
    for (let after = '', more = true; more; ) {
      const page = await this.rows.standings(tx, view.n, { after, limit: pageRows });
      for (const { object, standing } of page) if (typeof standing === 'object') ids.add(object);
      after = page.at(-1)?.object ?? after;
      more = page.length === pageRows;
    }
    const made: ObjectRecord[] = [];
    for (const id of ids) {
      const object = await this.objects.find(tx, id);
      if (object !== undefined && isOwnNamespace(child, object.namespace) && object.deletedAt === null)
        made.push(object);
    }
    return made;
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
    facts: { child },
    hint: 'Wait for it first.',
  });
}

function notForked(pid: Pid, child: Pid): MemoryError {
  return new MemoryError('NOT_FORKED', `The view of ${child} was not forked from that of ${pid}.`, {
    facts: { pid, child },
    hint: 'Only a child made with fork, from the view that its parent still has, can be merged.',
  });
}
