import type { InferSelectModel, Table } from 'drizzle-orm';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { StoredValues } from './row-codec.js';
import { TableDescription, type TableOptions } from './table-description.js';
import { keyOf, type TableMemory } from './table-memory.js';
import type { UnitAccess } from './unit-access.js';
import type { WorkingSet } from './working-set.js';

/** Whole rows of one table, by key and in declared lists: answered from the working set where it knows them. */
export class Rows<T extends Table, List extends string> {
  private readonly description: TableDescription;
  private readonly listNumbers: ReadonlyMap<string, number>;

  constructor(table: T, options: TableOptions<keyof T['_']['columns'] & string, List>) {
    this.description = new TableDescription(table, options);
    this.listNumbers = new Map(this.description.lists.map(({ name }, index) => [name, index]));
  }

  /** The row with this key. */
  get(tx: ReadTx, ...key: readonly (string | number)[]): InferSelectModel<T> | undefined {
    const unit = tx as object as UnitAccess;
    const memory = (unit.workingSet ?? unit.committed)?.tableOf(this.description);
    const known = memory?.peek(keyOf(key));
    if (known !== undefined) return toRow(known);
    if (memory !== undefined && unit.workingSet !== undefined) return toRow(memory.load(keyOf(key), key));
    return this.decode(unit.rowStatements(this.description).find(key));
  }

  /** The row with this value in the other unique column of the table. */
  getBy(tx: ReadTx, value: string | number): InferSelectModel<T> | undefined {
    const unit = tx as object as UnitAccess;
    const column = this.description.otherColumn as string;
    const memory = (unit.workingSet ?? unit.committed)?.tableOf(this.description);
    const known = memory?.peekOther(value);
    if (known !== undefined) return toRow(known);
    if (memory !== undefined && unit.workingSet !== undefined) return toRow(memory.loadOther(column, value));
    return this.decode(unit.rowStatements(this.description).findBy(column, value));
  }

  /** The rows of a list, in no particular order; undefined where there are more than 64, or long ones: query then. */
  list(tx: ReadTx, list: List, value: string | number): InferSelectModel<T>[] | undefined {
    const index = this.listNumbers.get(list) as number;
    const own = tx as object as UnitAccess;
    const { workingSet } = own;
    if (workingSet === undefined) {
      return own.committed?.tableOf(this.description).peekList(index, value) as InferSelectModel<T>[] | undefined;
    }
    const memory = workingSet.tableOf(this.description);
    const known = memory.peekList(index, value);
    if (known !== undefined) return known as InferSelectModel<T>[];
    if (memory.hasMany(index, value)) return undefined;
    own.beforeQuery();
    return memory.loadList(index, value) as InferSelectModel<T>[] | undefined;
  }

  /** There must be no row with its key. */
  insert(tx: WriteTx, row: InferSelectModel<T>): void {
    const values = this.description.codec.encode(row);
    this.write(tx, this.keyParts(values), values);
  }

  /** Writes the row as it is to be, whether there is one with its key or not. */
  put(tx: WriteTx, row: InferSelectModel<T>): void {
    const values = this.description.codec.encode(row);
    const key = this.keyParts(values);
    this.memoryOf(tx).know(keyOf(key), key);
    this.write(tx, key, values);
  }

  /** Removes the row with this key, if there is one. */
  remove(tx: WriteTx, ...key: readonly (string | number)[]): void {
    this.memoryOf(tx).know(keyOf(key), key);
    this.write(tx, key, null);
  }

  /** Makes known that a list of something new has no rows. */
  knowEmpty(tx: WriteTx, list: List, value: string | number): void {
    this.memoryOf(tx).knowEmpty(this.listNumbers.get(list) as number, value);
  }

  /** Makes known that something new has no row with this key. */
  knowAbsent(tx: WriteTx, ...key: readonly (string | number)[]): void {
    this.memoryOf(tx).knowAbsent(keyOf(key));
  }

  private write(tx: WriteTx, key: readonly unknown[], values: StoredValues | null): void {
    this.memoryOf(tx).write(keyOf(key), values);
    (tx as object as UnitAccess).afterWrite();
  }

  private keyParts(values: StoredValues): readonly unknown[] {
    return this.description.keyPositions.map((position) => values[position]);
  }

  private memoryOf(tx: WriteTx): TableMemory {
    return ((tx as object as UnitAccess).workingSet as WorkingSet).tableOf(this.description);
  }

  private decode(values: readonly unknown[] | undefined): InferSelectModel<T> | undefined {
    return values === undefined ? undefined : (this.description.codec.decode(values) as InferSelectModel<T>);
  }
}

function toRow<Row>(known: unknown): Row | undefined {
  return known === null ? undefined : (known as Row);
}
