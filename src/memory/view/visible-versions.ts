import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import type { Pid } from '../../base/ids.js';
import type { ReadTx } from '../../base/store.js';
import { Evaluator } from '../../capability/decision/evaluator.js';
import { CapabilityRepository } from '../../capability/holding/capability-repository.js';
import { Holdings } from '../../capability/holding/holdings.js';
import { maskOfRight } from '../../capability/resource/rights.js';
import {
  copies,
  type NumberedView,
  type ObjectRecord,
  type Snapshot,
  type Source,
  type Version,
} from '../object/object.js';
import { objectQuestion } from '../object/object-question.js';
import { ObjectRepository } from '../object/object-repository.js';
import { ViewRepository } from './view-repository.js';
import { type Base, latest, Views } from './views.js';

/** A version, and the view that it was written through, if any. */
export interface Seen {
  readonly version: Version;
  readonly view: number | null;
}

/** Views whose own versions of an object come first, nearest first; and as of when the main line is looked at below. */
interface Layers {
  readonly views: readonly Pick<Base, 'view' | 'asOf'>[];
  readonly main: Snapshot;
}

const mainLine: Layers = { views: [], main: latest };
const writeMask = maskOfRight('write');

/** Which version of an object a view shows, and a process sees. */
@injectable()
export class VisibleVersions {
  constructor(
    @inject(Views) private readonly views: Views,
    @inject(ViewRepository) private readonly rows: ViewRepository,
    @inject(ObjectRepository) private readonly objects: ObjectRepository,
    @inject(CapabilityRepository) private readonly capabilities: CapabilityRepository,
    @inject(Holdings) private readonly held: Holdings,
    @inject(Evaluator) private readonly evaluator: Evaluator,
    @inject(Clock) private readonly clock: KernelClock,
  ) {}

  /** The version that a view shows: its own, or what its bases showed at the fork. */
  async shown(tx: ReadTx, view: NumberedView, object: ObjectRecord): Promise<Seen> {
    return this.first(tx, object, await this.layers(tx, view, object));
  }

  /** The version that a view was forked with: what it would show if nothing had been written through it. */
  async forked(tx: ReadTx, view: NumberedView, object: ObjectRecord): Promise<Seen> {
    const { views, main } = await this.layers(tx, view, object);
    return this.first(tx, object, { views: views.slice(1), main });
  }

  /** What `pid` sees of an object now, as something that another one is made from. */
  async sourceOf(tx: ReadTx, pid: Pid, object: ObjectRecord): Promise<Source> {
    const { version, view } = await this.seenBy(tx, pid, object);
    return { object: object.id, version: version.version, ...(view === null ? {} : { view }) };
  }

  /** The version that `pid` sees: the one that a write of its own would be made on, where it may write. */
  async seenBy(tx: ReadTx, pid: Pid, object: ObjectRecord): Promise<Seen> {
    return this.first(tx, object, await this.layersFor(tx, pid, object));
  }

  /** The versions that led to what `pid` sees, oldest first: those of the main line, then those of the views on the way. */
  async versionsSeenBy(tx: ReadTx, pid: Pid, object: ObjectRecord): Promise<readonly Version[]> {
    const { views, main } = await this.layersFor(tx, pid, object);
    const written: (readonly Version[])[] = [];
    for (const { view, asOf } of views) {
      written.unshift(await this.rows.versions(tx, view.n, object.id, asOf.versions));
    }
    return [await this.objects.history(tx, object, main.versions), ...written].flat();
  }

  private async first(tx: ReadTx, object: ObjectRecord, { views, main }: Layers): Promise<Seen> {
    for (const { view, asOf } of views) {
      const own = await this.rows.overlay(tx, view.n, object.id, asOf.versions);
      if (own !== undefined) return { version: own, view: view.n };
    }
    return { version: await this.objects.asOf(tx, object, main.versions), view: null };
  }

  /**
   * What was forked is as the view shows it; everything else, such as an object that was given to the process later, is as
   * it is in the main line. A view that only reads shows a snapshot, or what its parent has: a process that can write the
   * object by a capability of its own writes the main line, and sees that.
   */
  private async layersFor(tx: ReadTx, pid: Pid, object: ObjectRecord): Promise<Layers> {
    const holder = await this.capabilities.holder(tx, pid);
    const view = holder && (await this.views.find(tx, holder.view));
    if (view === undefined) return mainLine;
    const layers = await this.layers(tx, view, object);
    if (layers.views.length === 0 || copies(view)) return layers;
    return (await this.writesItself(tx, pid, object)) ? mainLine : layers;
  }

  /** A view has an object from its base where it was there; the last one that had it has it from the main line. */
  private async layers(tx: ReadTx, view: NumberedView, object: ObjectRecord): Promise<Layers> {
    const passed: Pick<Base, 'view' | 'asOf'>[] = [{ view, asOf: latest }];
    let layers: Layers = mainLine;
    for await (const base of this.views.bases(tx, view, object)) {
      if (base.standing !== undefined) layers = { views: [...passed], main: base.asOf };
      if (isOfMainLine(base)) break;
      passed.push(base);
    }
    return layers;
  }

  /** Also by one whose last use this was: what was written by it is seen by its writer. */
  private async writesItself(tx: ReadTx, pid: Pid, object: ObjectRecord): Promise<boolean> {
    for (const record of await this.held.matching(tx, objectQuestion(pid, 'write', object))) {
      if ((record.rights & writeMask) === 0) continue;
      const status = await this.evaluator.status(tx, record, this.clock.peek());
      if (status === 'live' || status === 'spent') return true;
    }
    return false;
  }
}

/** Its process put it there to write it, and its view does not copy: what it wrote is in the main line. */
function isOfMainLine({ view, standing }: Base): boolean {
  return !copies(view) && typeof standing === 'object' && (standing.rights & writeMask) !== 0;
}
