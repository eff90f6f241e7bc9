import { inject, injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { HolderLookup } from '../../capability/holding/holders.js';
import { ViewRepository } from '../view/view-repository.js';
import { Views } from '../view/views.js';
import { VisibleVersions } from '../view/visible-versions.js';
import { type NewVersion, type NumberedView, type ObjectRecord, type Version, writesToOverlay } from './object.js';
import { ObjectRepository } from './object-repository.js';

/** The place that a write of a process goes to, and the version that it replaces. */
export interface WriteTarget {
  readonly object: ObjectRecord;
  /** The view that gets a version of its own; undefined for the main line. */
  readonly view: NumberedView | undefined;
  readonly before: Version;
}

/** Writes versions of objects: to the main line, or to the overlay of a forked view that copies on write. */
@injectable()
export class VersionWriter {
  constructor(
    @inject(HolderLookup) private readonly holders: HolderLookup,
    @inject(ObjectRepository) private readonly objects: ObjectRepository,
    @inject(ViewRepository) private readonly viewRepository: ViewRepository,
    @inject(VisibleVersions) private readonly visibleVersions: VisibleVersions,
    @inject(Views) private readonly views: Views,
  ) {}

  /** The overlay for an object that came with the fork; the main line for one that the process created or was given since. */
  async findTarget(tx: ReadTx, pid: Pid, object: ObjectRecord): Promise<WriteTarget> {
    const view = await this.views.find(tx, (await this.holders.findLive(tx, pid)).view);
    if (view === undefined || !writesToOverlay(view) || !(await this.views.isInBase(tx, view, object))) {
      return { object, view: undefined, before: object };
    }
    return { object, view, before: (await this.visibleVersions.findInView(tx, view, object)).version };
  }

  async write(tx: WriteTx, { object, view, before }: WriteTarget, next: NewVersion): Promise<void> {
    if (view === undefined) return this.objects.update(tx, object, next);
    const overlay = await this.viewRepository.overlay(tx, view.n, object.id);
    const { baseHash, baseVersion } = overlay ?? { baseHash: before.hash, baseVersion: before.version };
    await this.viewRepository.writeOverlay(tx, view.n, overlay, { ...next, object: object.id, baseHash, baseVersion });
  }
}
