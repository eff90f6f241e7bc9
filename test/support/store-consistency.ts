import { decodeRecord } from '../../src/audit/audit-record.js';
import { AuditRepository } from '../../src/audit/audit-repository.js';
import { type ReadTx, Store } from '../../src/base/store.js';
import type { Token } from '../../src/base/token.js';
import { CapabilityRepository } from '../../src/capability/holding/capability-repository.js';
import { EventRepository } from '../../src/events/event-repository.js';
import type { Kernel } from '../../src/index.js';
import { AccountRepository } from '../../src/kernel/budget/account-repository.js';
import { isTerminal, type ProcessRow } from '../../src/kernel/process/process.js';
import { ProcessRepository } from '../../src/kernel/process/process-repository.js';
import { ObjectRepository } from '../../src/memory/object/object-repository.js';
import { ViewRepository } from '../../src/memory/view/view-repository.js';

const spawnActions = new Set(['process.spawn', 'process.spawnChild', 'process.fork']);
const terminalStatuses: ReadonlySet<string | undefined> = new Set(['exited', 'failed', 'killed', 'abandoned']);

/**
 * The inconsistencies in the store of `kernel`, as sentences. Every process has all parts that a spawn writes, every end has
 * its event and record and has freed its child slots; both logs are without gap and the audit log verifies.
 */
export async function findInconsistencies(kernel: Kernel): Promise<string[]> {
  const faults = await kernel.container.get(Store).read((tx) => new Inspection(kernel, tx).run());
  const report = await kernel.audit.verify();
  if (!report.ok) faults.push(`the audit log does not verify: ${JSON.stringify(report.firstBad)}`);
  return faults;
}

/** Reads everything in one read unit. */
class Inspection {
  private readonly faults: string[] = [];

  constructor(
    private readonly kernel: Kernel,
    private readonly tx: ReadTx,
  ) {}

  async run(): Promise<string[]> {
    const rows = await this.readAll(
      async (after) =>
        (await this.get(ProcessRepository).scan(this.tx, { by: 'all' }, { order: 'oldest', after, limit: 1_000 })).rows,
      ({ n }) => n,
    );
    const told = await this.tallyEvents(rows);
    const recorded = await this.tallyRecords();
    const liveBelow = new Map<number, number>();
    for (const row of rows) {
      if (!isTerminal(row.status)) for (const n of row.path) liveBelow.set(n, (liveBelow.get(n) ?? 0) + 1);
    }
    for (const row of rows) {
      await this.checkSpawn(row, liveBelow.get(row.n) ?? 0);
      const ended = isTerminal(row.status) ? 1 : 0;
      this.compare(row, 'spawn events', told.get(row.pid)?.spawns ?? 0, 1);
      this.compare(row, 'spawn records', recorded.get(row.pid)?.spawns ?? 0, 1);
      this.compare(row, 'end events', told.get(row.pid)?.ends ?? 0, ended);
      this.compare(row, 'end records', recorded.get(row.pid)?.ends ?? 0, ended);
    }
    return this.faults;
  }

  private async checkSpawn(row: ProcessRow, liveBelow: number): Promise<void> {
    const account = await this.get(AccountRepository).find(this.tx, row.n);
    if (account === undefined) this.faults.push(`${row.pid} has no account`);
    else this.compare(row, 'children in use', account.children.used, liveBelow);
    if ((await this.get(ObjectRepository).find(this.tx, row.goal)) === undefined)
      this.faults.push(`${row.pid} has no goal`);
    const view = await this.get(ViewRepository).find(this.tx, row.view);
    if (view?.pid !== row.pid) this.faults.push(`${row.pid} has no view`);
    const held = await this.get(CapabilityRepository).findByHolder(this.tx, row.pid);
    if (!held.some(({ own }) => own)) this.faults.push(`${row.pid} has no capability on its own namespace`);
    if (isTerminal(row.status) && row.exitedAt === null) this.faults.push(`${row.pid} ended at no time`);
  }

  private async tallyEvents(rows: readonly ProcessRow[]): Promise<Map<string, Tally>> {
    const events = await this.readAll(
      (after) => this.get(EventRepository).page(this.tx, after, 1_000),
      ({ seq }) => seq,
    );
    this.checkGaps('event', events);
    const known = new Set(rows.map(({ pid }) => pid));
    const tally = new Map<string, Tally>();
    for (const { pid, type, seq } of events) {
      if (pid === undefined) continue;
      if (!known.has(pid)) this.faults.push(`event ${seq} is about ${pid}, which has no row`);
      if (type === 'process.spawned' || type === 'process.forked') count(tally, pid, 'spawns');
      if (type === 'process.exited') count(tally, pid, 'ends');
    }
    return tally;
  }

  private async tallyRecords(): Promise<Map<string, Tally>> {
    const stored = await this.readAll(
      (after) => this.get(AuditRepository).recordsAfter(this.tx, after, 1_000),
      ({ seq }) => seq,
    );
    this.checkGaps('audit record', stored);
    const tally = new Map<string, Tally>();
    for (const { target, action, outcome, after } of stored.map((record) => decodeRecord(record, undefined))) {
      if (target === undefined || outcome !== 'ok') continue;
      if (spawnActions.has(action)) count(tally, target, 'spawns');
      if (terminalStatuses.has(after)) count(tally, target, 'ends');
    }
    return tally;
  }

  private async readAll<T>(page: (after: number) => Promise<T[]>, key: (item: T) => number): Promise<T[]> {
    const items: T[] = [];
    for (let last: T | undefined; ; last = items.at(-1)) {
      const next = await page(last === undefined ? 0 : key(last));
      if (next.length === 0) return items;
      items.push(...next);
    }
  }

  private checkGaps(what: string, items: readonly { seq: number }[]): void {
    const gap = items.findIndex(({ seq }, index) => seq !== index + 1);
    if (gap >= 0) this.faults.push(`${what} ${gap + 1} is missing`);
  }

  private compare({ pid }: ProcessRow, what: string, found: number, expected: number): void {
    if (found !== expected) this.faults.push(`${pid} has ${found} ${what} instead of ${expected}`);
  }

  private get<T>(service: Token<T>): T {
    return this.kernel.container.get<T>(service);
  }
}

interface Tally {
  spawns: number;
  ends: number;
}

function count(tally: Map<string, Tally>, pid: string, what: keyof Tally): void {
  const counts = tally.get(pid) ?? { spawns: 0, ends: 0 };
  counts[what]++;
  tally.set(pid, counts);
}
