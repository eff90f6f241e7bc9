import { inject, injectable } from 'inversify';
import { z } from 'zod';
import { Clock, type KernelClock } from '../../base/clock.js';
import type { Pid } from '../../base/ids.js';
import { type Page, scanRowsMax } from '../../base/page.js';
import { amount } from '../../base/spec.js';
import { type ReadTx, Store } from '../../base/store.js';
import { Turns } from '../../base/turns.js';
import type { ProcessCaller } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { Units } from '../../unit/units.js';
import { Accounts, limitsOf, usageOf } from '../budget/accounts.js';
import { OutputPaths } from '../command/command-ports.js';
import { CommandRepository } from '../command/command-repository.js';
import { InheritedEnvironments } from '../command/inherited-environments.js';
import { NodeWaits } from '../node/node-waits.js';
import {
  type ProcessCounts,
  type ProcessKind,
  type ProcessRecord,
  type ProcessRow,
  type ProcessStatus,
  type ProcessTree,
  pauserOf,
  processKinds,
  processStatuses,
  queueOf,
  type WaitFacet,
} from '../process/process.js';
import { matchesFilter, narrowestScanOf, processFilter, type Selectors } from '../process/process-filter.js';
import { ProcessLookup } from '../process/process-lookup.js';
import { type ProcessCount, ProcessRepository } from '../process/process-repository.js';
import { readTree } from '../process/tree-rows.js';
import { parse, parsePid } from '../specs.js';
import { notAChild, ProcessRights } from '../waiting/process-rights.js';

const treeOptions = z.strictObject({ depth: amount.max(1024).default(1024) });
const countsFilter = processFilter.omit({ limit: true, after: true, order: true });
const childrenFilter = processFilter.extend({ limit: processFilter.shape.limit.unwrap().optional() });
const scanPageRows = 500;

/** get, list, counts, children, ancestors, tree. */
@injectable()
export class Queries {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(Accounts) private readonly accounts: Accounts,
    @inject(NodeWaits) private readonly nodeWaits: NodeWaits,
    @inject(CommandRepository) private readonly commands: CommandRepository,
    @inject(OutputPaths) private readonly outputPaths: OutputPaths,
    @inject(InheritedEnvironments) private readonly environments: InheritedEnvironments,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(Units) private readonly units: Units,
    @inject(ProcessRights) private readonly rights: ProcessRights,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /** Throws NO_SUCH_PROCESS. */
  get(input: unknown): Promise<ProcessRecord> {
    const pid = parsePid(input);
    return this.store.read(async (tx) => this.toRecord(tx, await this.lookup.get(tx, pid)));
  }

  /** The parent of a process as it is now; null for a root. Throws NO_SUCH_PROCESS. */
  parentOf(pid: Pid): Promise<Pid | null> {
    return this.store.read(async (tx) => (await this.lookup.get(tx, pid)).parent);
  }

  /**
   * A process as another one sees it: itself, a child, or one that it holds the right `read` on. Throws NOT_A_CHILD, for
   * what does not exist too, and CAPABILITY_DENIED where a rule forbids it.
   */
  async getFor(caller: ProcessCaller, input: unknown): Promise<ProcessRecord> {
    const target = parsePid(input);
    const { pid } = caller;
    const call = { caller, actor: pid, action: 'process.get', target, kind: 'look' } as const;
    const found = await this.units.read(call, async (tx) => {
      const row = await this.processes.find(tx, target);
      if (row !== undefined && (target === pid || row.parent === pid)) return this.toRecord(tx, row);
      const context = { via: caller.face, at: this.clock.peek() };
      const { counted, approval } = await this.rights.preview(tx, context, pid, 'read', target);
      if (row === undefined) throw notAChild(pid, target);
      return counted === 0 && approval === undefined ? this.toRecord(tx, row) : undefined;
    });
    if (found !== undefined) return found;
    return this.units.commit(call, async (tx, act) => {
      const { capability, approval } = await this.rights.authorize(tx, act, pid, 'read', target);
      const { actor, via, at } = act;
      this.recorder.recordAudit(tx, {
        actor,
        via,
        at,
        action: 'process.get',
        outcome: 'ok',
        target,
        capability,
        approval,
      });
      return this.toRecord(tx, await this.lookup.get(tx, target));
    });
  }

  /** A page in the order of creation, or against it; it is empty only where nothing follows. */
  async list(rawFilter: unknown = {}): Promise<Page<ProcessRecord>> {
    const { limit, after, order, ...filter } = parse(processFilter, rawFilter, 'filter');
    const scan = narrowestScanOf(filter);
    const items: ProcessRecord[] = [];
    const turns = new Turns();
    let cursor = after === undefined ? undefined : Number(after);
    for (let scanned = 0; items.length === 0 || scanned < scanRowsMax; ) {
      const part = await this.store.read(async (tx) => {
        const page = await this.processes.scan(tx, scan, { order, after: cursor, limit: scanPageRows });
        const found: ProcessRecord[] = [];
        for (const row of page.rows) {
          await turns.next();
          if (await this.isSelected(tx, filter, row)) found.push(await this.toRecord(tx, row));
          if (items.length + found.length === limit) return { found, next: row.n, rows: 0 };
        }
        return { found, next: page.next, rows: page.rows.length };
      });
      items.push(...part.found);
      if (part.next === undefined) return { items };
      cursor = part.next;
      if (items.length === limit) break;
      scanned += scan.by === 'conditions' && part.rows < scanPageRows ? scanRowsMax : part.rows;
    }
    return { items, next: String(cursor) };
  }

  /** Counts the processes that a filter selects. */
  async counts(rawFilter: unknown = {}): Promise<ProcessCounts> {
    const filter = parse(countsFilter, rawFilter, 'filter');
    const status = Object.fromEntries(processStatuses.map((name) => [name, 0])) as Record<ProcessStatus, number>;
    const kind = Object.fromEntries(processKinds.map((name) => [name, 0])) as Record<ProcessKind, number>;
    let total = 0;
    const add = (counted: ProcessCount): void => {
      status[counted.status] += counted.count;
      kind[counted.kind] += counted.count;
      total += counted.count;
    };
    let after: number | undefined;
    do {
      const part = await this.store.read((tx) => this.countPart(tx, filter, after));
      for (const counted of part.counts) add(counted);
      after = part.next;
    } while (after !== undefined);
    return { total, status, kind };
  }

  private async countPart(tx: ReadTx, filter: Selectors, after: number | undefined) {
    const scan = narrowestScanOf(filter);
    if (filter.waiting === undefined && filter.text === undefined) {
      if (scan.by === 'all') return this.processes.count(tx, {}, after);
      if (scan.by === 'conditions') return this.processes.count(tx, scan.conditions, after);
    }
    const page = await this.processes.scan(tx, scan, { order: 'oldest', after, limit: scanPageRows });
    const counts: ProcessCount[] = [];
    for (const row of page.rows) if (await this.isSelected(tx, filter, row)) counts.push({ ...row, count: 1 });
    return { counts, next: page.next };
  }

  private async isSelected(tx: ReadTx, filter: Selectors, row: ProcessRow): Promise<boolean> {
    return matchesFilter(filter, row, row.wait ?? (await this.nodeWaits.find(tx, row)) ?? null);
  }

  /** All children, unless the filter has a `limit`. */
  async children(input: unknown, rawFilter: unknown = {}): Promise<ProcessRecord[]> {
    const pid = parsePid(input);
    const { limit = Number.POSITIVE_INFINITY, ...selectors } = parse(childrenFilter, rawFilter, 'filter');
    await this.store.read((tx) => this.lookup.get(tx, pid));
    const children: ProcessRecord[] = [];
    let { after } = selectors;
    do {
      const rest = Math.min(limit - children.length, scanRowsMax);
      const page: Page<ProcessRecord> = await this.list({ ...selectors, parent: pid, limit: rest, after });
      children.push(...page.items);
      after = page.next;
    } while (after !== undefined && children.length < limit);
    return children;
  }

  /** Nearest first. */
  ancestors(input: unknown): Promise<ProcessRecord[]> {
    const pid = parsePid(input);
    return this.store.read(async (tx) => {
      await this.lookup.get(tx, pid);
      return this.toRecords(tx, await this.processes.findAncestors(tx, pid));
    });
  }

  tree(input: unknown, options: unknown = {}): Promise<ProcessTree> {
    const pid = parsePid(input);
    const { depth } = parse(treeOptions, options, 'options');
    return this.store.read(async (tx) => {
      const { rows, cut } = await readTree(this.processes, tx, await this.lookup.get(tx, pid), depth);
      return toTree(await this.toRecords(tx, rows), cut);
    });
  }

  private async toRecords(tx: ReadTx, rows: readonly ProcessRow[]): Promise<ProcessRecord[]> {
    const records: ProcessRecord[] = [];
    const turns = new Turns();
    for (const row of rows) {
      await turns.next();
      records.push(await this.toRecord(tx, row));
    }
    return records;
  }

  private async toRecord(tx: ReadTx, row: ProcessRow): Promise<ProcessRecord> {
    const account = await this.accounts.get(tx, row.n);
    const { pid, parent, bornUnder, root, depth, kind, status, image, cwd, goal, args, generation } = row;
    const { attempt, recovery, onParentExit, id, externalRef, result } = row;
    const { name, outcome, message, node, createdAt, startedAt, updatedAt, exitedAt, deadlineAt, progress } = row;
    const required = {
      pid,
      parent,
      bornUnder,
      root,
      depth,
      kind,
      status,
      image,
      cwd,
      goal,
      args,
      queue: queueOf(row),
      generation,
      attempt,
      recovery,
      onParentExit,
    };
    const optional = {
      name,
      id,
      externalRef,
      result,
      wait: toWaitFacet(row.wait ?? (await this.nodeWaits.find(tx, row)) ?? null),
      pausedBy: pauserOf(row),
      outcome,
      message,
      node,
      startedAt,
      exitedAt,
      deadlineAt,
      progress,
    };
    return {
      ...required,
      labels: row.labels ?? {},
      owner: row.owner ?? {},
      budget: limitsOf(account),
      used: usageOf(account),
      createdAt,
      updatedAt,
      ...(row.env === null ? {} : { env: await this.environments.namesOf(tx, row.env) }),
      ...(kind === 'command' ? await this.findCommand(tx, row.n) : {}),
      ...(Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== null)) as Partial<ProcessRecord>),
    };
  }

  private async findCommand(tx: ReadTx, rowNumber: number): Promise<Pick<ProcessRecord, 'command'>> {
    const found = await this.commands.find(tx, rowNumber);
    if (found === undefined) return {};
    const { line, leader, adopted } = found;
    const program = { line, ...(leader === null ? {} : { osPid: leader.pid }) };
    if (adopted === null) return { command: { ...program, ...this.outputPaths.of(rowNumber) } };
    return { command: { ...program, adopted: adopted.group === null ? {} : { groupPid: adopted.group } } };
  }
}

/** `records`: parents before children. */
function toTree([top, ...rest]: readonly ProcessRecord[], cut: ReadonlySet<Pid>): ProcessTree {
  type Growing = ProcessRecord & { children: Growing[]; more?: true };
  const grow = (record: ProcessRecord): Growing => ({
    ...record,
    children: [],
    ...(cut.has(record.pid) ? { more: true } : {}),
  });
  const root = grow(top as ProcessRecord);
  const byPid = new Map<string, Growing>([[root.pid, root]]);
  for (const record of rest) {
    const node = grow(record);
    byPid.set(node.pid, node);
    byPid.get(node.parent ?? '')?.children.push(node);
  }
  return root;
}

/** Without the keys that wake the process, which are internal. */
function toWaitFacet(wait: ProcessRow['wait']): WaitFacet | null {
  if (wait === null) return null;
  const { on: _on, ...facet } = wait;
  return facet;
}
