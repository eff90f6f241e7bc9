import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import type { Pid } from '../../base/ids.js';
import type { ReadTx } from '../../base/store.js';
import { Evaluator } from '../../capability/decision/evaluator.js';
import { CapabilityRepository } from '../../capability/holding/capability-repository.js';
import { Holdings } from '../../capability/holding/holdings.js';
import { maskOfRight } from '../../capability/resource/rights.js';
import {
  type NumberedView,
  type ObjectRecord,
  type Snapshot,
  type Source,
  type Version,
  writesToOverlay,
} from '../object/object.js';
import { objectQuestion } from '../object/object-access.js';
import { ObjectRepository } from '../object/object-repository.js';
import { ViewRepository } from './view-repository.js';
import { type BaseView, latestSnapshot, Views } from './views.js';

/** A version, and the number of the view whose overlay it is from; null for the main line. */
export interface VisibleVersion {
  readonly version: Version;
  readonly view: number | null;
}

/** The views whose overlays are searched, nearest first, and the state of the main line below them. */
interface Layers {
  readonly views: readonly Pick<BaseView, 'view' | 'asOf'>[];
  readonly mainAsOf: Snapshot;
}

const mainLine: Layers = { views: [], mainAsOf: latestSnapshot };
const writeMask = maskOfRight('write');

/** Finds the version of an object that a view shows, or that a process sees. */
@injectable()
export class VisibleVersions {
  constructor(
    @inject(Views) private readonly views: Views,
    @inject(ViewRepository) private readonly viewRepository: ViewRepository,
    @inject(ObjectRepository) private readonly objects: ObjectRepository,
    @inject(CapabilityRepository) private readonly capabilities: CapabilityRepository,
    @inject(Holdings) private readonly holdings: Holdings,
    @inject(Evaluator) private readonly evaluator: Evaluator,
    @inject(Clock) private readonly clock: KernelClock,
  ) {}

  /** The version that a view shows: its own overlay, or what its bases showed at the fork. */
  async findInView(tx: ReadTx, view: NumberedView, object: ObjectRecord): Promise<VisibleVersion> {
    return this.findNearest(tx, object, await this.layersOfView(tx, view, object));
  }

  /** The version that a view was forked with: what it would show if nothing had been written through it. */
  async findAtFork(tx: ReadTx, view: NumberedView, object: ObjectRecord): Promise<VisibleVersion> {
    const { views, mainAsOf } = await this.layersOfView(tx, view, object);
    return this.findNearest(tx, object, { views: views.slice(1), mainAsOf });
  }

  /** The version that `pid` sees now, as a source of another object. */
  async sourceOf(tx: ReadTx, pid: Pid, object: ObjectRecord): Promise<Source> {
    const { version, view } = await this.findForProcess(tx, pid, object);
    return { object: object.id, version: version.version, ...(view === null ? {} : { view }) };
  }

  /** The version that `pid` sees, which is also the one that a write of its own would replace. */
  async findForProcess(tx: ReadTx, pid: Pid, object: ObjectRecord): Promise<VisibleVersion> {
    return this.findNearest(tx, object, await this.layersForProcess(tx, pid, object));
  }

  /** The versions that led to what `pid` sees, oldest first: those of the main line, then those of the views on the way. */
  async historyForProcess(tx: ReadTx, pid: Pid, object: ObjectRecord): Promise<readonly Version[]> {
    const { views, mainAsOf } = await this.layersForProcess(tx, pid, object);
    const overlayVersions: (readonly Version[])[] = [];
    for (const { view, asOf } of views) {
      overlayVersions.unshift(await this.viewRepository.versions(tx, view.n, object.id, asOf.versions));
    }
    return [await this.objects.history(tx, object, mainAsOf.versions), ...overlayVersions].flat();
  }

  private async findNearest(tx: ReadTx, object: ObjectRecord, { views, mainAsOf }: Layers): Promise<VisibleVersion> {
    for (const { view, asOf } of views) {
      const overlay = await this.viewRepository.overlay(tx, view.n, object.id, asOf.versions);
      if (overlay !== undefined) return { version: overlay, view: view.n };
    }
    return { version: await this.objects.findVersionAsOf(tx, object, mainAsOf.versions), view: null };
  }

  /**
   * An object from the base is shown by the view; any other, such as one that was given to the process later, by the main
   * line. A read-only view shows a snapshot or the parent's state, but a process that may write the object by a capability
   * of its own writes to the main line, and sees that.
   */
  private async layersForProcess(tx: ReadTx, pid: Pid, object: ObjectRecord): Promise<Layers> {
    const holder = await this.capabilities.findHolder(tx, pid);
    const view = holder && (await this.views.find(tx, holder.view));
    if (view === undefined) return mainLine;
    const layers = await this.layersOfView(tx, view, object);
    if (layers.views.length === 0 || writesToOverlay(view)) return layers;
    return (await this.canWriteMainLine(tx, pid, object)) ? mainLine : layers;
  }

  /** The overlays of the view and of its bases, as far as the farthest base that has the object; below it the main line. */
  private async layersOfView(tx: ReadTx, view: NumberedView, object: ObjectRecord): Promise<Layers> {
    const nearerViews: Pick<BaseView, 'view' | 'asOf'>[] = [{ view, asOf: latestSnapshot }];
    let layers: Layers = mainLine;
    for await (const base of this.views.bases(tx, view, object)) {
      if (base.entryState !== undefined) layers = { views: [...nearerViews], mainAsOf: base.asOf };
      if (writesMainLine(base)) break;
      nearerViews.push(base);
    }
    return layers;
  }

  /** A spent capability counts too: who has written with its last use still sees what was written. */
  private async canWriteMainLine(tx: ReadTx, pid: Pid, object: ObjectRecord): Promise<boolean> {
    for (const record of await this.holdings.findMatching(tx, objectQuestion(pid, 'write', object))) {
      if ((record.rights & writeMask) === 0) continue;
      const status = await this.evaluator.statusOf(tx, record, this.clock.peek());
      if (status === 'live' || status === 'spent') return true;
    }
    return false;
  }
}

/** Whether the process of the base writes the object to the main line: it may write it, and its view has no overlay. */
function writesMainLine({ view, entryState }: BaseView): boolean {
  return !writesToOverlay(view) && typeof entryState === 'object' && (entryState.rights & writeMask) !== 0;
}
