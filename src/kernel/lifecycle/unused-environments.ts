import { inject, injectable } from 'inversify';
import { type ReadTx, Store, type WriteTx } from '../../base/store.js';
import { SpawnExtrasRepository } from './spawn-extras-repository.js';

const pageRows = 5_000;
/** The environments that one unit removes. */
const unitRows = 200;

/** Removes environments that no process names any more. */
@injectable()
export class UnusedEnvironments {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(SpawnExtrasRepository) private readonly extras: SpawnExtrasRepository,
  ) {}

  /** Removes those of `hashes` that no process names. Looks through the process table in pages, so that nobody waits. */
  async remove(hashes: ReadonlySet<string>): Promise<void> {
    const unused = new Set(hashes);
    let last = 0;
    for (let more = true; more && unused.size > 0; ) {
      const after = last;
      const page = await this.store.read((tx) => this.pageUses(tx, after));
      for (const hash of page.used) unused.delete(hash);
      last = page.last;
      more = page.more;
    }
    while (unused.size > 0) {
      const after = last;
      const part = await this.store.write((tx) => this.removePart(tx, [...unused], after));
      for (const hash of part.settled) unused.delete(hash);
      last = part.last;
    }
  }

  /** Removes some of `unused`. Answers with those that are removed or in use after all, and the last process it has looked at. */
  private async removePart(
    tx: WriteTx,
    unused: readonly string[],
    after: number,
  ): Promise<{ readonly settled: readonly string[]; readonly last: number }> {
    const used = new Set<string>();
    let last = after;
    // Processes that were spawned meanwhile have higher numbers.
    for (let more = true; more; ) {
      const page = await this.pageUses(tx, last);
      for (const hash of page.used) used.add(hash);
      last = page.last;
      more = page.more;
    }
    const removed = unused.filter((hash) => !used.has(hash)).slice(0, unitRows);
    for (const hash of removed) await this.extras.removeEnvironment(tx, hash);
    return { settled: [...used, ...removed], last };
  }

  private async pageUses(tx: ReadTx, after: number): Promise<UsesPage> {
    const uses = await this.extras.pageEnvironmentUses(tx, after, pageRows);
    const used = uses.flatMap(({ env }) => (env === null ? [] : [env]));
    return { used, last: uses.at(-1)?.n ?? after, more: uses.length === pageRows };
  }
}

/** The environments that a page of processes names, and the number of its last process. */
interface UsesPage {
  readonly used: readonly string[];
  readonly last: number;
  readonly more: boolean;
}
