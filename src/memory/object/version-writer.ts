import { inject, injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { HolderLookup } from '../../capability/holding/holders.js';
import { ViewRepository } from '../view/view-repository.js';
import { Views } from '../view/views.js';
import { VisibleVersions } from '../view/visible-versions.js';
import { copies, type NewVersion, type NumberedView, type ObjectRecord, type Version } from './object.js';
import { ObjectRepository } from './object-repository.js';

/** Where a write of a process goes, and what it is made on. */
export interface WriteTarget {
  readonly object: ObjectRecord;
  /** The view that gets a version of its own; undefined for the main line. */
  readonly view: NumberedView | undefined;
  readonly before: Version;
}

/** Writes versions: into the main line, or into the view of a process that was forked to copy. */
@injectable()
export class VersionWriter {
  constructor(
    @inject(HolderLookup) private readonly holders: HolderLookup,
    @inject(ObjectRepository) private readonly objects: ObjectRepository,
    @inject(ViewRepository) private readonly rows: ViewRepository,
    @inject(VisibleVersions) private readonly shown: VisibleVersions,
    @inject(Views) private readonly views: Views,
  ) {}

  /** What was forked is written into the fork; what a process made itself, or was given since, is written in place. */
  async place(tx: ReadTx, pid: Pid, object: ObjectRecord): Promise<WriteTarget> {
    const view = await this.views.find(tx, (await this.holders.live(tx, pid)).view);
    if (view === undefined || !copies(view) || !(await this.views.isInBase(tx, view, object))) {
      return { object, view: undefined, before: object };
    }
    return { object, view, before: (await this.shown.shown(tx, view, object)).version };
  }

  async write(tx: WriteTx, { object, view, before }: WriteTarget, next: NewVersion): Promise<void> {
    if (view === undefined) return this.objects.update(tx, object, next);
    const own = await this.rows.overlay(tx, view.n, object.id);
    const { baseHash, baseVersion } = own ?? { baseHash: before.hash, baseVersion: before.version };
    await this.rows.write(tx, view.n, own, { ...next, object: object.id, baseHash, baseVersion });
  }
}
