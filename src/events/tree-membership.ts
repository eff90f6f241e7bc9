import type { Pid } from '../base/ids.js';
import type { Store } from '../base/store.js';
import type { EventRepository } from './event-repository.js';

const cachedPathsMax = 50_000;

/** Tells whether a process was spawned under another one. That never changes, so paths are cached. */
export class TreeMembership {
  private readonly paths = new Map<Pid, readonly number[]>();

  constructor(
    private readonly store: Store,
    private readonly repository: EventRepository,
  ) {}

  /** Whether `pid` is the root of `tree` or was spawned under it. */
  async contains(tree: Pid, pid: Pid | undefined): Promise<boolean> {
    if (pid === undefined) return false;
    if (pid === tree) return true;
    const top = (await this.pathOf(tree)).at(-1);
    return top !== undefined && (await this.pathOf(pid)).includes(top);
  }

  private async pathOf(pid: Pid): Promise<readonly number[]> {
    const cached = this.paths.get(pid);
    if (cached !== undefined) return cached;
    const path = await this.store.read((tx) => this.repository.spawnPath(tx, pid));
    if (this.paths.size >= cachedPathsMax) this.paths.clear();
    if (path.length > 0) this.paths.set(pid, path);
    return path;
  }
}
