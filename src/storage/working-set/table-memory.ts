import type { Table } from 'drizzle-orm';
import { type MaybePromise, mapAnswer } from '../statements/maybe-promise.js';
import { RecentMap } from './recent-map.js';
import type { RowCodec, StoredValues } from './row-codec.js';
import type { ListShape, RowStatements } from './row-statements.js';
import type { UndoLog } from './undo-log.js';

/** The key of a row: the value of its key column, or the values of several as one text. */
export type Key = string | number;

/** A list with more rows than this is not kept; its readers query. */
const listRowsMax = 64;
/** A row with a longer text is not kept after it was written. */
const keptTextMax = 4_096;

/** What the table has under one key. */
interface Entry {
  /** As units see it; null: no such row. */
  values: StoredValues | null;
  /** As the database has it; null: no such row. */
  stored: StoredValues | null;
  /** `values` decoded, once somebody has asked. */
  row: unknown;
}

/** The parts of a table's description that its memory needs. */
export interface MemoryShape {
  readonly codec: RowCodec<Table>;
  readonly keyPositions: readonly number[];
  /** The position of another unique column, by which rows are found too. */
  readonly otherPosition: number | undefined;
  readonly lists: readonly MemoryList[];
}

export interface MemoryList extends ListShape {
  readonly name: string;
  readonly position: number;
  /** Whether a row with the value is in the list. */
  readonly includes: (values: StoredValues) => boolean;
}

/**
 * The rows of one table that are known, with what is not yet written to the database. Reads of rows by key and of declared
 * lists are answered here; writes change the rows here and are written behind, each row once in its last state.
 */
export class TableMemory {
  private readonly entries = new RecentMap<Key, Entry>();
  private readonly others = new RecentMap<unknown, Key>();
  /** The keys of the rows of each list; `many`: more than are kept. */
  private readonly lists: readonly RecentMap<unknown, readonly Key[] | 'many'>[];
  /** The entries that units before the open one have changed, and that are not written. */
  private readonly pending = new Set<Entry>();
  /** The entries that the open unit has changed and that are not written, with their values before it. */
  private readonly changed = new Map<Entry, StoredValues | null>();

  constructor(
    private readonly shape: MemoryShape,
    private readonly statements: RowStatements,
    private readonly undo: UndoLog,
  ) {
    this.lists = shape.lists.map(() => new RecentMap());
  }

  /** The number of rows that were used since the last `age`. */
  get recentSize(): number {
    return this.entries.recentSize;
  }

  get hasPending(): boolean {
    return this.pending.size > 0 || this.changed.size > 0;
  }

  /** The row as units see it; null: there is none; undefined: not known. */
  peek(key: Key): unknown {
    const entry = this.entries.get(key);
    return entry === undefined ? undefined : this.rowOf(entry);
  }

  peekOther(value: unknown): unknown {
    const key = this.others.get(value);
    return key === undefined ? undefined : this.peek(key);
  }

  /** The rows of a list; undefined: not known, or more than are kept. */
  peekList(index: number, value: unknown): unknown[] | undefined {
    const keys = this.lists[index]?.get(value);
    if (keys === undefined || keys === 'many') return undefined;
    const rows: unknown[] = [];
    for (const key of keys) {
      const row = this.peek(key);
      if (row === undefined || row === null) return undefined;
      rows.push(row);
    }
    return rows;
  }

  hasMany(index: number, value: unknown): boolean {
    return this.lists[index]?.get(value) === 'many';
  }

  /** Reads the row from the database and remembers it. A key that is not known has no row that waits to be written. */
  load(key: Key, parts: readonly unknown[]): MaybePromise<unknown> {
    return mapAnswer(this.statements.find(parts), (values) => this.remember(key, values ?? null));
  }

  loadOther(column: string, value: unknown): MaybePromise<unknown> {
    return mapAnswer(this.statements.findBy(column, value), (values) =>
      values === undefined ? null : this.remember(this.keyOf(values), values),
    );
  }

  /** Keeps a row that was read, unless it is known; null: there is none. */
  learn(key: Key, values: StoredValues | null): void {
    this.remember(key, values);
  }

  /** Reads a list from the database; nothing may wait to be written. */
  loadList(index: number, value: unknown): MaybePromise<unknown[] | undefined> {
    const list = this.shape.lists[index] as MemoryList;
    return mapAnswer(this.statements.list(list.name, list, value, listRowsMax + 1), (found) => {
      const keys: Key[] = [];
      for (const values of found) {
        keys.push(this.keyOf(values));
        this.remember(this.keyOf(values), values);
      }
      this.setList(index, value, found.length > listRowsMax ? 'many' : keys);
      return this.peekList(index, value);
    });
  }

  /** Keeps rows that were read from the database together; answers with them in the same order. */
  rememberAll(found: readonly StoredValues[]): unknown[] {
    return found.map((values) => this.remember(this.keyOf(values), values));
  }

  /** Whether a list is known, or known to have more rows than are kept. */
  knowsList(index: number, value: unknown): boolean {
    return this.lists[index]?.get(value) !== undefined;
  }

  /** Keeps lists whose rows were read from the database together; nothing may wait to be written. */
  rememberLists(index: number, lists: ReadonlyMap<unknown, readonly StoredValues[]>): void {
    for (const [value, found] of lists) {
      const keys = found.map((values) => this.keyOf(values));
      if (keys.length <= listRowsMax) this.rememberAll(found);
      this.setList(index, value, keys.length > listRowsMax ? 'many' : keys);
    }
  }

  /** Makes known that a list has no rows, as those of something new. */
  knowEmpty(index: number, value: unknown): void {
    this.setList(index, value, []);
  }

  /** Makes known that there is no such row. */
  knowAbsent(key: Key): void {
    if (this.entries.get(key) === undefined) this.remember(key, null);
  }

  /** Reads a row that is about to be changed, however long it is, unless it is known. */
  know(key: Key, parts: readonly unknown[]): MaybePromise<void> {
    if (this.entries.get(key) !== undefined) return;
    const found = this.isAbsentFromLists(key, parts) ? undefined : this.statements.find(parts);
    return mapAnswer(found, (row) => {
      const values = row ?? null;
      this.entries.set(key, { values, stored: values, row: undefined });
    });
  }

  /** Changes a row; null: removes it. A key that is not known has no row. */
  write(key: Key, values: StoredValues | null): void {
    let entry = this.entries.get(key);
    if (entry === undefined) {
      entry = { values: null, stored: null, row: undefined };
      this.entries.set(key, entry);
    }
    this.relist(key, entry.values, values);
    if (!this.changed.has(entry)) this.changed.set(entry, entry.values);
    entry.values = values;
    entry.row = undefined;
    const { otherPosition } = this.shape;
    if (otherPosition !== undefined && values !== null) this.others.set(values[otherPosition], key);
  }

  /** Adds the changes of a unit to those of its group. */
  keepUnit(): void {
    if (this.changed.size === 0) return;
    for (const entry of this.changed.keys()) this.pending.add(entry);
    this.changed.clear();
  }

  /** Takes back the changes of a unit, of which nothing was written. */
  undoUnit(): void {
    for (const [entry, before] of this.changed) {
      entry.values = before;
      entry.row = undefined;
    }
    this.changed.clear();
  }

  /** Writes changes of the units before the open one to the database, at most `limit` rows; answers with their number. */
  flushGroup(limit: number): number {
    let written = 0;
    for (const entry of this.pending) {
      if (written === limit) break;
      written++;
      const before = this.changed.get(entry);
      this.store(entry, before === undefined ? entry.values : before);
      this.pending.delete(entry);
    }
    return written;
  }

  /** Writes the changes of the open unit to the database. */
  flushUnit(): void {
    for (const entry of this.changed.keys()) this.store(entry, entry.values);
    this.changed.clear();
  }

  /** Forgets everything, also what was not written. */
  clear(): void {
    this.entries.clear();
    this.others.clear();
    for (const list of this.lists) list.clear();
    if (this.pending.size > 0) this.pending.clear();
    if (this.changed.size > 0) this.changed.clear();
  }

  /** Forgets what has not been used since the last call; nothing may wait to be written. */
  age(): void {
    for (const known of [this.entries, this.others, ...this.lists]) known.age();
  }

  private store(entry: Entry, values: StoredValues | null): void {
    const { stored } = entry;
    if (stored === null && values !== null) this.statements.insert(values);
    else if (stored !== null && values === null) this.statements.delete(this.keyParts(stored));
    else if (stored !== null && values !== null) this.statements.update(stored, values, this.keyParts(stored));
    entry.stored = values;
    if (values !== null && entry.values === values && isLong(values)) this.entries.delete(this.keyOf(values));
  }

  private relist(key: Key, before: StoredValues | null, after: StoredValues | null): void {
    const { lists } = this.shape;
    for (let index = 0; index < lists.length; index++) {
      const { position, includes } = lists[index] as MemoryList;
      const from = before !== null && includes(before) ? before[position] : undefined;
      const to = after !== null && includes(after) ? after[position] : undefined;
      if (from === to) continue;
      const [left, entered] = [this.lists[index]?.get(from), this.lists[index]?.get(to)];
      if (left !== undefined && left !== 'many') this.setList(index, from, without(left, key));
      if (entered !== undefined && entered !== 'many') {
        this.setList(index, to, entered.length < listRowsMax ? [...entered, key] : 'many');
      }
    }
  }

  /** Whether a list by a column of the key is known, and has no such row. */
  private isAbsentFromLists(key: Key, parts: readonly unknown[]): boolean {
    return this.shape.lists.some(({ position, condition }, index) => {
      const part = this.shape.keyPositions.indexOf(position);
      if (part < 0 || condition !== undefined) return false;
      const keys = this.lists[index]?.get(parts[part]);
      return keys !== undefined && keys !== 'many' && !keys.includes(key);
    });
  }

  private setList(index: number, value: unknown, keys: readonly Key[] | 'many'): void {
    const list = this.lists[index] as RecentMap<unknown, readonly Key[] | 'many'>;
    const before = list.get(value);
    list.set(value, keys);
    this.undo.push(() => (before === undefined ? list.delete(value) : list.set(value, before)));
  }

  /** Keeps what the database has, unless the row is known already. */
  private remember(key: Key, values: StoredValues | null): unknown {
    const known = this.entries.get(key);
    if (known !== undefined) return this.rowOf(known);
    const entry: Entry = { values, stored: values, row: undefined };
    if (values === null || !isLong(values)) {
      this.entries.set(key, entry);
      if (this.shape.otherPosition !== undefined && values !== null)
        this.others.set(values[this.shape.otherPosition], key);
    }
    return this.rowOf(entry);
  }

  private rowOf(entry: Entry): unknown {
    if (entry.values === null) return null;
    entry.row ??= this.shape.codec.decode(entry.values);
    return this.shape.codec.copy(entry.row as never, entry.values);
  }

  private keyOf(values: StoredValues): Key {
    return keyOf(this.keyParts(values));
  }

  private keyParts(values: StoredValues): unknown[] {
    return this.shape.keyPositions.map((position) => values[position]);
  }
}

export function keyOf(parts: readonly unknown[]): Key {
  return parts.length === 1 ? (parts[0] as Key) : parts.join('\n');
}

function without(keys: readonly Key[], key: Key): readonly Key[] {
  return keys.filter((other) => other !== key);
}

function isLong(values: StoredValues): boolean {
  for (const value of values) if (typeof value === 'string' && value.length > keptTextMax) return true;
  return false;
}
