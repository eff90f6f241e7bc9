import type { StoredValues } from '../working-set/row-codec.js';

/** A column of an answer. */
interface AnswerColumn {
  readonly name: string;
  readonly dataTypeID: number;
}

type Decode = (text: string) => unknown;

const asNumber: Decode = Number;
const decoders: Readonly<Record<number, Decode>> = {
  16: (text) => (text === 't' ? 1 : 0),
  17: (text) => Buffer.from(text.slice(2), 'hex'),
  20: asNumber,
  21: asNumber,
  23: asNumber,
  700: asNumber,
  701: asNumber,
  1700: asNumber,
};
const asText: Decode = (text) => text;

/** Turns the texts of a row into values as SQLite gives them: numbers, texts, bytes, and 0 or 1 for the answer of a condition. */
export class RowDecoder {
  readonly names: readonly string[];
  private readonly decoders: readonly Decode[];

  constructor(columns: readonly AnswerColumn[]) {
    this.names = columns.map(({ name }) => name);
    this.decoders = columns.map(({ dataTypeID }) => decoders[dataTypeID] ?? asText);
  }

  decode(fields: readonly (string | null)[]): unknown[] {
    const values: unknown[] = new Array(fields.length);
    for (let index = 0; index < fields.length; index++) {
      const field = fields[index] as string | null;
      values[index] = field === null ? null : (this.decoders[index] as Decode)(field);
    }
    return values;
  }
}

/** Rows as objects, by the names of their columns. */
export function toObject(names: readonly string[], values: StoredValues): Record<string, unknown> {
  const row: Record<string, unknown> = {};
  for (let index = 0; index < names.length; index++) row[names[index] as string] = values[index];
  return row;
}

/** A value as it is sent: bytes as they are, everything else as text. */
export function toParameter(value: unknown): string | Buffer | null {
  if (value === null || value === undefined) return null;
  if (Buffer.isBuffer(value) || typeof value === 'string') return value;
  return typeof value === 'boolean' ? String(Number(value)) : String(value);
}
