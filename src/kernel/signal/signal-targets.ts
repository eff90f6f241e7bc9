import { inject, injectable } from 'inversify';
import type { z } from 'zod';
import { pageLimitMax } from '../../base/page.js';
import type { ReadTx } from '../../base/store.js';
import { isTerminal, type ProcessRow } from '../process/process.js';
import { matchesFilter, narrowestScanOf, type Selectors } from '../process/process-filter.js';
import { ProcessLookup } from '../process/process-lookup.js';
import { ProcessRepository } from '../process/process-repository.js';
import type { signalScope } from '../specs.js';

/** A pid, or a scope that has been parsed. */
export type Target = string | z.output<typeof signalScope>;

/** Finds the processes that a signal is for. */
@injectable()
export class SignalTargets {
  constructor(
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
  ) {}

  /** A process that is named by its pid matches also when it has ended; those below it, and those of a scope, only while live. */
  async match(tx: ReadTx, target: Target, tree: boolean): Promise<ProcessRow[]> {
    if (typeof target === 'string') {
      const row = await this.lookup.get(tx, target);
      if (!tree || isTerminal(row.status)) return [row];
      return [...(await this.processes.findLiveTrees(tx, [target])), ...(await this.findStoppingOrphans(tx, row))];
    }
    const pids = (await this.select(tx, target)).map(({ pid }) => pid);
    return tree ? this.processes.findLiveTrees(tx, pids) : this.processes.findAll(tx, pids);
  }

  /**
   * Processes that are still being stopped after their parent has ended: no walk from parent to child finds them. They
   * belong to the tree in which they were spawned.
   */
  private async findStoppingOrphans(tx: ReadTx, top: ProcessRow): Promise<ProcessRow[]> {
    const stopping = (await this.scan(tx, { status: 'stopping' })).filter(({ path }) => path.includes(top.n));
    const parents = await this.processes.findAll(
      tx,
      stopping.flatMap(({ parent }) => parent ?? []),
    );
    const ended = new Set(parents.filter(({ status }) => isTerminal(status)).map(({ pid }) => pid));
    return stopping.filter(({ parent }) => parent !== null && ended.has(parent));
  }

  private async select(tx: ReadTx, { tree, ...scope }: Exclude<Target, string>): Promise<ProcessRow[]> {
    const filter = { ...scope, live: true };
    if (tree !== undefined) {
      await this.lookup.get(tx, tree);
      return (await this.processes.findLiveTrees(tx, [tree])).filter((row) => matchesFilter(filter, row));
    }
    return this.scan(tx, filter);
  }

  private async scan(tx: ReadTx, filter: Selectors): Promise<ProcessRow[]> {
    const selected: ProcessRow[] = [];
    const scan = narrowestScanOf(filter);
    let after: number | undefined;
    do {
      const page = await this.processes.scan(tx, scan, { order: 'oldest', after, limit: pageLimitMax });
      selected.push(...page.rows.filter((row) => matchesFilter(filter, row)));
      after = page.next;
    } while (after !== undefined);
    return selected;
  }
}
