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
      return [...(await this.processes.findLiveTree(tx, target)), ...(await this.findStoppingOrphans(tx, row))];
    }
    const selected = await this.select(tx, target);
    if (!tree) return selected;
    const matched = new Map<string, ProcessRow>();
    for (const row of selected) {
      if (matched.has(row.pid)) continue;
      for (const live of await this.processes.findLiveTree(tx, row.pid)) matched.set(live.pid, live);
    }
    return [...matched.values()];
  }

  /**
   * Processes that are still being stopped after their parent has ended: no walk from parent to child finds them. They
   * belong to the tree in which they were spawned.
   */
  private async findStoppingOrphans(tx: ReadTx, top: ProcessRow): Promise<ProcessRow[]> {
    const orphans: ProcessRow[] = [];
    for (const row of await this.scan(tx, { status: 'stopping' })) {
      if (row.parent === null || !row.path.includes(top.n)) continue;
      const parent = await this.processes.find(tx, row.parent);
      if (parent !== undefined && isTerminal(parent.status)) orphans.push(row);
    }
    return orphans;
  }

  private async select(tx: ReadTx, { tree, ...scope }: Exclude<Target, string>): Promise<ProcessRow[]> {
    const filter = { ...scope, live: true };
    if (tree !== undefined) {
      await this.lookup.get(tx, tree);
      return (await this.processes.findLiveTree(tx, tree)).filter((row) => matchesFilter(filter, row));
    }
    return this.scan(tx, filter);
  }

  private async scan(tx: ReadTx, filter: Selectors): Promise<ProcessRow[]> {
    const selected: ProcessRow[] = [];
    const scan = narrowestScanOf(filter);
    for (let after = 0; ; ) {
      const page = await this.processes.scan(tx, scan, after, pageLimitMax);
      selected.push(...page.filter((row) => matchesFilter(filter, row)));
      if (page.length < pageLimitMax) return selected;
      after = page.at(-1)?.n ?? after;
    }
  }
}
