import { inject, injectable } from 'inversify';
import type { Pid } from '../base/ids.js';
import type { ReadTx } from '../base/store.js';
import { CapabilityRepository } from '../capability/capability-repository.js';
import type { MemoryMark, NumberedView, ObjectRecord, Source, Version } from './object.js';
import { ObjectRepository } from './object-repository.js';
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
  readonly main: MemoryMark;
}

const mainLine: Layers = { views: [], main: latest };

/** Which version of an object a view shows, and a process sees. */
@injectable()
export class ShownVersions {
  constructor(
    @inject(Views) private readonly views: Views,
    @inject(ViewRepository) private readonly rows: ViewRepository,
    @inject(ObjectRepository) private readonly objects: ObjectRepository,
    @inject(CapabilityRepository) private readonly capabilities: CapabilityRepository,
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

  /** The version that `pid` sees. */
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
   * it is in the main line.
   */
  private async layersFor(tx: ReadTx, pid: Pid, object: ObjectRecord): Promise<Layers> {
    const holder = await this.capabilities.holder(tx, pid);
    const view = holder && (await this.views.find(tx, holder.view));
    return view === undefined ? mainLine : this.layers(tx, view, object);
  }

  /** A view has an object from its base where it was there; the last one that had it has it from the main line. */
  private async layers(tx: ReadTx, view: NumberedView, object: ObjectRecord): Promise<Layers> {
    const passed: Pick<Base, 'view' | 'asOf'>[] = [{ view, asOf: latest }];
    let layers: Layers = mainLine;
    for await (const base of this.views.bases(tx, view, object)) {
      if (base.standing !== undefined) layers = { views: [...passed], main: base.asOf };
      passed.push(base);
    }
    return layers;
  }
}
