import { inject, injectable } from 'inversify';
import { type ReadTx, Store } from '../../base/store.js';
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
    for (let more = unused.size > 0; more && unused.size > 0; ) {
      const after = last;
      const page = await this.store.read((tx) => this.keepUsed(tx, unused, after));
      last = page.last;
      more = page.more;
    }
    for (let more = unused.size > 0; more; ) {
      more = await this.store.write(async (tx) => {
        // Processes that were spawned meanwhile have higher numbers.
        for (let page = { last, more: true }; page.more; ) {
          page = await this.keepUsed(tx, unused, page.last);
          last = page.last;
        }
        const part = [...unused].slice(0, unitRows);
        for (const hash of part) await this.extras.removeEnvironment(tx, hash);
        for (const hash of part) unused.delete(hash);
        return unused.size > 0;
      });
    }
  }

  /** Takes what a page of processes names out of `unused`. */
  private async keepUsed(
    tx: ReadTx,
    unused: Set<string>,
    after: number,
  ): Promise<{ readonly last: number; readonly more: boolean }> {
    const uses = await this.extras.pageEnvironmentUses(tx, after, pageRows);
    for (const { env } of uses) if (env !== null) unused.delete(env);
    return { last: uses.at(-1)?.n ?? after, more: uses.length === pageRows };
  }
}
