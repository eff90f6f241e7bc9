import { inject, injectable } from 'inversify';
import type { Pid } from '../base/ids.js';
import { Store } from '../base/store.js';
import { EventRepository } from './event-repository.js';

const cachedMax = 50_000;

/** Answers whether a process was born in a tree. Birth never changes, so an answer is kept. */
@injectable()
export class Ancestry {
  private readonly paths = new Map<Pid, readonly number[]>();

  constructor(
    @inject(Store) private readonly store: Store,
    @inject(EventRepository) private readonly repository: EventRepository,
  ) {}

  async isWithin(pid: Pid | undefined, tree: Pid): Promise<boolean> {
    if (pid === undefined) return false;
    if (pid === tree) return true;
    const top = (await this.path(tree)).at(-1);
    return top !== undefined && (await this.path(pid)).includes(top);
  }

  private async path(pid: Pid): Promise<readonly number[]> {
    const kept = this.paths.get(pid);
    if (kept !== undefined) return kept;
    const path = await this.store.read((tx) => this.repository.bornPath(tx, pid));
    if (this.paths.size >= cachedMax) this.paths.clear();
    if (path.length > 0) this.paths.set(pid, path);
    return path;
  }
}
