import { type MaybePromise, mapAnswer } from '../statements/maybe-promise.js';
import type { RowStatements } from './row-statements.js';
import type { TableDescription } from './table-description.js';
import { TableMemory } from './table-memory.js';
import { UndoLog } from './undo-log.js';

/** The connection on which the working set reads and writes rows. */
export interface RowConnection {
  rowStatements(description: TableDescription): RowStatements;
}

/** When more rows than this were used since the working set was aged last, it is aged. */
const recentRowsMax = 1_000;

/**
 * What one store knows of its database: rows by key, declared lists of rows, and single facts such as the newest numbers. It
 * is what the open group of units has made of it, and between groups what is committed. It is forgotten as a whole when
 * another connection has committed, and when a group was not committed.
 */
export class WorkingSet {
  /** The number of commits and of times that everything was forgotten: what was read at another version may be outdated. */
  version = 0;
  /** Whether a group of units is open: it may have changed what is known. */
  isInGroup = false;
  private dataVersion: unknown;
  private readonly tables: (TableMemory | undefined)[] = [];
  private readonly facts = new Map<string, unknown>();
  private readonly undoLog = new UndoLog();
  private readonly factUndoLog = new UndoLog();

  /** `keepsFacts`: facts are stored with each commit, so that only another commit makes them invalid. */
  constructor(
    private readonly connection: RowConnection,
    private readonly keepsFacts = false,
  ) {}

  tableOf(description: TableDescription): TableMemory {
    let table = this.tables[description.number];
    if (table === undefined) {
      table = new TableMemory(description, this.connection.rowStatements(description), this.undoLog);
      this.tables[description.number] = table;
    }
    return table;
  }

  /** The fact under `name`, or what `load` reads; nothing may wait to be written that `load` depends on. */
  fact<T>(name: string, load: () => MaybePromise<T>): MaybePromise<T> {
    if (this.facts.has(name)) return this.facts.get(name) as T;
    return mapAnswer(load(), (value) => {
      if (!this.facts.has(name)) this.setFact(name, value);
      return this.facts.get(name) as T;
    }) as MaybePromise<T>;
  }

  peekFact(name: string): unknown {
    return this.facts.get(name);
  }

  setFact(name: string, value: unknown): void {
    const [had, before] = [this.facts.has(name), this.facts.get(name)];
    this.facts.set(name, value);
    this.factUndoLog.push(() => (had ? this.facts.set(name, before) : this.facts.delete(name)));
  }

  /** The version of the database whose state is known. */
  get knownVersion(): unknown {
    return this.dataVersion;
  }

  /** Whether what is known is committed, and nobody else has committed since. */
  isCommitted(dataVersion: unknown): boolean {
    return !this.isInGroup && dataVersion === this.dataVersion;
  }

  /** Forgets everything when the version is another one: answers whether it is not. */
  beginGroup(dataVersion: unknown): boolean {
    const isCurrent = dataVersion === this.dataVersion;
    if (!isCurrent) this.forgetAll();
    this.dataVersion = dataVersion;
    this.isInGroup = true;
    return isCurrent;
  }

  /** All facts, as JSON. */
  exportFacts(): string {
    return JSON.stringify(Object.fromEntries(this.facts));
  }

  /** Takes facts that `exportFacts` has given, unless they are known. */
  importFacts(json: string): void {
    for (const [name, value] of Object.entries(JSON.parse(json) as Record<string, unknown>)) {
      if (!this.facts.has(name)) this.facts.set(name, value);
    }
  }

  /** After the COMMIT of a group. `dataVersion`: the version that it made, where a commit of its own changes it. */
  endGroup(dataVersion = this.dataVersion): void {
    this.isInGroup = false;
    this.dataVersion = dataVersion;
    this.undoLog.clear();
    this.factUndoLog.clear();
    this.version++;
    let recent = 0;
    for (const table of this.tables) recent += table?.recentSize ?? 0;
    if (recent >= recentRowsMax) this.age();
  }

  /** Forgets what has not been used since the last call. Does nothing while a group is open. */
  age(): void {
    if (this.isInGroup) return;
    for (const table of this.tables) table?.age();
  }

  /** After a group that was not committed. */
  abandonGroup(): void {
    this.isInGroup = false;
    this.forgetAll();
  }

  /** Adds the changes of a unit to those of its group. */
  keepUnit(): void {
    for (const table of this.tables) table?.keepUnit();
    this.undoLog.clear();
    this.factUndoLog.clear();
  }

  /** Takes back the changes of a unit, of which nothing was written. */
  undoUnit(): void {
    for (const table of this.tables) table?.undoUnit();
    this.undoLog.undo();
    this.factUndoLog.undo();
  }

  /** Takes back the changes of a unit, of which something was written: what is known of rows may come from it. */
  forgetUnit(): void {
    this.factUndoLog.undo();
    this.forget();
  }

  get hasPending(): boolean {
    for (const table of this.tables) if (table?.hasPending) return true;
    return false;
  }

  /** Writes changes of the units before the open one to the database, at most `limit` rows; answers whether some may be left. */
  flushGroup(limit = Number.POSITIVE_INFINITY): boolean {
    let left = limit;
    for (const table of this.tables) left -= table?.flushGroup(left) ?? 0;
    return left === 0;
  }

  /** Writes the changes of the open unit to the database. */
  flushUnit(): void {
    for (const table of this.tables) table?.flushUnit();
  }

  /** Forgets what is known of rows, and facts that are not stored. Nothing may wait to be written. */
  forget(): void {
    for (const table of this.tables) table?.clear();
    if (!this.keepsFacts) this.forgetFacts();
    this.undoLog.clear();
    this.version++;
  }

  private forgetAll(): void {
    this.forget();
    this.forgetFacts();
  }

  private forgetFacts(): void {
    if (this.facts.size > 0) this.facts.clear();
    this.factUndoLog.clear();
  }
}
