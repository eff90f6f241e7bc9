import type { InferSelectModel, Table } from 'drizzle-orm';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { Turns } from '../../base/turns.js';
import { type MaybePromise, mapAnswer } from '../statements/maybe-promise.js';
import type { StoredValues } from './row-codec.js';
import { type Prepare, rowsByValues, rowsOfLists } from './row-queries.js';
import { TableDescription, type TableOptions } from './table-description.js';
import { keyOf, type MemoryList, type TableMemory } from './table-memory.js';
import type { UnitAccess } from './unit-access.js';
import type { RowConnection, WorkingSet } from './working-set.js';

/** Whole rows of one table, by key and in declared lists: answered from the working set where it knows them. */
export class Rows<T extends Table, List extends string> {
  private readonly description: TableDescription;
  private readonly listNumbers: ReadonlyMap<string, number>;
  private readonly manyByKey: Prepare<[string]>;
  private readonly manyByOther: Prepare<[string]> | undefined;
  private readonly manyLists: readonly PrepareLists[];

  constructor(table: T, options: TableOptions<keyof T['_']['columns'] & string, List>) {
    this.description = new TableDescription(table, options);
    const { codec, keyPositions, otherPosition, lists } = this.description;
    this.manyByKey = rowsByValues(table, codec.columnOf(keyPositions[0] as number));
    if (otherPosition !== undefined) this.manyByOther = rowsByValues(table, codec.columnOf(otherPosition));
    this.manyLists = lists.map((list) => rowsOfLists(table, codec.columnOf(list.position), list));
    this.listNumbers = new Map(this.description.lists.map(({ name }, index) => [name, index]));
  }

  /** The row with this key. */
  get(tx: ReadTx, ...key: readonly (string | number)[]): MaybePromise<InferSelectModel<T> | undefined> {
    const unit = tx as object as UnitAccess;
    const memory = (unit.workingSet ?? unit.committed)?.tableOf(this.description);
    const known = memory?.peek(keyOf(key));
    if (known !== undefined) return toRow(known);
    if (memory !== undefined && unit.workingSet !== undefined) {
      return mapAnswer(memory.load(keyOf(key), key), toRow<InferSelectModel<T>>);
    }
    return mapAnswer(unit.rowStatements(this.description).find(key), (values) => this.decode(values));
  }

  /** The row with this value in the other unique column of the table. */
  getBy(tx: ReadTx, value: string | number): MaybePromise<InferSelectModel<T> | undefined> {
    const unit = tx as object as UnitAccess;
    const column = this.description.otherColumn as string;
    const memory = (unit.workingSet ?? unit.committed)?.tableOf(this.description);
    const known = memory?.peekOther(value);
    if (known !== undefined) return toRow(known);
    if (memory !== undefined && unit.workingSet !== undefined) {
      return mapAnswer(memory.loadOther(column, value), toRow<InferSelectModel<T>>);
    }
    return mapAnswer(unit.rowStatements(this.description).findBy(column, value), (values) => this.decode(values));
  }

  /** The rows of a list, in no particular order; undefined where there are more than 64, or long ones: query then. */
  list(tx: ReadTx, list: List, value: string | number): MaybePromise<InferSelectModel<T>[] | undefined> {
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
    return memory.loadList(index, value) as MaybePromise<InferSelectModel<T>[] | undefined>;
  }

  /** Reads the row with this key from the database, whatever is known. */
  preload(connection: RowConnection, ...key: readonly (string | number)[]): MaybePromise<StoredValues | undefined> {
    return connection.rowStatements(this.description).find(key);
  }

  /** Makes known what `preload` has read in the same transaction. */
  learn(workingSet: WorkingSet, values: StoredValues | undefined, ...key: readonly (string | number)[]): void {
    workingSet.tableOf(this.description).learn(keyOf(key), values ?? null);
  }

  /** Whether the row is known, or known not to be there. */
  isKnown(workingSet: WorkingSet, ...key: readonly (string | number)[]): boolean {
    return workingSet.tableOf(this.description).peek(keyOf(key)) !== undefined;
  }

  /**
   * The rows with these keys, in their order, of a table whose key is one column. All that are not known are read together, in
   * parts that give the event loop its turns.
   */
  getAll(tx: ReadTx, keys: readonly (string | number)[]): Promise<InferSelectModel<T>[]> {
    return this.findAll(tx, keys, this.manyByKey, {
      peek: (memory, key) => memory?.peek(key),
      get: (key) => this.get(tx, key),
      position: this.description.keyPositions[0] as number,
    });
  }

  /** The rows with these values in the other unique column of the table, as `getAll` reads them. */
  getAllBy(tx: ReadTx, values: readonly (string | number)[]): Promise<InferSelectModel<T>[]> {
    return this.findAll(tx, values, this.manyByOther as Prepare<[string]>, {
      peek: (memory, value) => memory?.peekOther(value),
      get: (value) => this.getBy(tx, value),
      position: this.description.otherPosition as number,
    });
  }

  /** Makes the lists with these values known to a write unit that will ask for each of them; they are read together. */
  async loadLists(tx: ReadTx, list: List, values: readonly (string | number)[]): Promise<void> {
    const index = this.listNumbers.get(list) as number;
    const unit = tx as object as UnitAccess;
    const memory = unit.workingSet?.tableOf(this.description);
    if (memory === undefined) return;
    const { position } = this.description.lists[index] as MemoryList;
    const turns = new Turns();
    for (const part of partsOf([...new Set(values)].filter((value) => !memory.knowsList(index, value)))) {
      await turns.next();
      unit.beforeQuery();
      const limit = part.length * rowsPerList;
      const found = await unit.statements(this.manyLists[index] as PrepareLists).all(JSON.stringify(part), limit);
      memory.rememberLists(index, groupRows(part, found, position, found.length === limit));
    }
  }

  /** There must be no row with its key. */
  insert(tx: WriteTx, row: InferSelectModel<T>): void {
    const values = this.description.codec.encode(row);
    this.write(tx, this.keyParts(values), values);
  }

  /** Writes the row as it is to be, whether there is one with its key or not. */
  put(tx: WriteTx, row: InferSelectModel<T>): MaybePromise<void> {
    const values = this.description.codec.encode(row);
    const key = this.keyParts(values);
    return mapAnswer(this.memoryOf(tx).know(keyOf(key), key), () => this.write(tx, key, values));
  }

  /** Removes the row with this key, if there is one. */
  remove(tx: WriteTx, ...key: readonly (string | number)[]): MaybePromise<void> {
    return mapAnswer(this.memoryOf(tx).know(keyOf(key), key), () => this.write(tx, key, null));
  }

  /** Makes known that a list of something new has no rows. */
  knowEmpty(tx: WriteTx, list: List, value: string | number): void {
    this.memoryOf(tx).knowEmpty(this.listNumbers.get(list) as number, value);
  }

  /** Makes known that something new has no row with this key. */
  knowAbsent(tx: WriteTx, ...key: readonly (string | number)[]): void {
    this.memoryOf(tx).knowAbsent(keyOf(key));
  }

  private async findAll(
    tx: ReadTx,
    values: readonly (string | number)[],
    statement: Prepare<[string]>,
    { peek, get, position }: Lookup<InferSelectModel<T>>,
  ): Promise<InferSelectModel<T>[]> {
    const unit = tx as object as UnitAccess;
    const memory = (unit.workingSet ?? unit.committed)?.tableOf(this.description);
    const rows = new Map<unknown, InferSelectModel<T> | undefined>();
    const unknown: (string | number)[] = [];
    for (const value of new Set(values)) {
      const known = peek(memory, value);
      if (known === undefined) unknown.push(value);
      else rows.set(value, toRow(known));
    }
    const turns = new Turns();
    for (const part of partsOf(unknown)) {
      await turns.next();
      if (part.length === 1) {
        rows.set(part[0], await get(part[0] as string | number));
        continue;
      }
      // A row that is not known does not wait to be written either, so that a write unit need not write first.
      if (unit.workingSet === undefined) unit.beforeQuery();
      const found = await unit.statements(statement).all(JSON.stringify(part));
      const read = unit.workingSet === undefined ? found.map((row) => this.decode(row)) : memory?.rememberAll(found);
      for (const [index, row] of found.entries()) rows.set(row[position], toRow(read?.[index]));
    }
    const inOrder: InferSelectModel<T>[] = [];
    for (const value of values) {
      const row = rows.get(value);
      if (row !== undefined) inOrder.push(row);
    }
    return inOrder;
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

/** Values of one statement: the rows that come of them are read within a turn of the event loop. */
const partValues = 250;
/** The rows that `loadLists` reads for each list on average; lists beyond that are read when they are asked for. */
const rowsPerList = 16;

type PrepareLists = Prepare<[string, number]>;

/** The ways to a row by one kind of value. */
interface Lookup<Row> {
  readonly peek: (memory: TableMemory | undefined, value: string | number) => unknown;
  readonly get: (value: string | number) => MaybePromise<Row | undefined>;
  /** The position of the value in a row. */
  readonly position: number;
}

function* partsOf<V>(values: readonly V[]): Generator<readonly V[]> {
  for (let from = 0; from < values.length; from += partValues) yield values.slice(from, from + partValues);
}

/** The rows of each list that was read whole. `isCut`: there may be more rows, of the list of the last one or of those after it. */
function groupRows(
  values: readonly unknown[],
  found: readonly StoredValues[],
  position: number,
  isCut: boolean,
): Map<unknown, StoredValues[]> {
  const lists = new Map<unknown, StoredValues[]>(isCut ? [] : values.map((value) => [value, []]));
  for (const row of found) {
    const list = lists.get(row[position]) ?? [];
    list.push(row);
    lists.set(row[position], list);
  }
  if (isCut) lists.delete(found.at(-1)?.[position]);
  return lists;
}

function toRow<Row>(known: unknown): Row | undefined {
  return known === null ? undefined : (known as Row);
}
