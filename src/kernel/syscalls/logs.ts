import { inject, injectable } from 'inversify';
import { z } from 'zod';
import { cutToBytes, toStorableText } from '../../base/characters.js';
import { invalidInput } from '../../base/errors.js';
import type { JsonObject } from '../../base/json.js';
import type { Page } from '../../base/page.js';
import { redactFacts, redactText } from '../../base/secret-patterns.js';
import { copySerialized, pageOptions } from '../../base/spec.js';
import { Store, type WriteTx } from '../../base/store.js';
import { Accounts } from '../budget/accounts.js';
import type { ProcessRow } from '../process/process.js';
import { ProcessLogRepository } from '../process/process-log-repository.js';
import { ProcessLookup } from '../process/process-lookup.js';
import { parse, parsePid } from '../specs.js';

/** A line that a body has logged. */
export interface LogLine {
  /** When it was logged. */
  readonly at: number;
  readonly text: string;
  /** The facts that were logged with it. */
  readonly facts?: JsonObject;
}

/** The bytes of a line, its text and its facts together. */
const lineBytesMax = 4_096;
/** The newest lines of a process that are kept. */
const linesMax = 1_000;
/** A text is cut to this before secrets are looked for in it. */
const inspectedCharsMax = 2 * lineBytesMax;

const logsOptions = z.strictObject(pageOptions);

/** A line that is to be stored: without secrets, and bounded. */
export interface NewLogLine {
  readonly text: string;
  readonly facts: JsonObject | null;
  readonly bytes: number;
}

/**
 * The line for a text and facts as a body gives them. A text that is too long is cut. Throws INVALID_INPUT for a text that is
 * none, and for facts that are no JSON object or too large.
 */
export function parseLogLine(rawText: unknown, rawFacts: unknown): NewLogLine {
  if (typeof rawText !== 'string') throw invalidInput('text', 'is not a text', 'Give a text, and data as facts.');
  const facts = rawFacts === undefined ? null : redactFacts(parseFacts(rawFacts));
  const factsBytes = facts === null ? 0 : Buffer.byteLength(JSON.stringify(facts));
  if (factsBytes > lineBytesMax) throw factsTooLarge();
  const redacted = redactText(toStorableText(rawText.slice(0, inspectedCharsMax)), 'log');
  const text = cutToBytes(redacted, lineBytesMax - factsBytes);
  return { text, facts, bytes: factsBytes + Buffer.byteLength(text) };
}

function parseFacts(input: unknown): JsonObject {
  const facts = copySerialized(input, 'facts', { bytesMax: lineBytesMax, depthMax: 16 });
  if (typeof facts === 'object' && facts !== null && !Array.isArray(facts)) return facts as JsonObject;
  throw invalidInput('facts', 'is not an object', 'Give an object of plain JSON, or none.');
}

function factsTooLarge() {
  return invalidInput('facts', `larger than ${lineBytesMax} bytes`, 'Log less, or put the data into an object.', {
    bytesMax: lineBytesMax,
  });
}

/** The lines that bodies log with `ctx.log`, kept with their process. */
@injectable()
export class ProcessLogs {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(ProcessLogRepository) private readonly repository: ProcessLogRepository,
    @inject(Accounts) private readonly accounts: Accounts,
  ) {}

  /** Adds a line in the unit of the caller, and drops the oldest one where there are too many. Throws BUDGET_EXCEEDED. */
  async append(tx: WriteTx, row: ProcessRow, at: number, { text, facts, bytes }: NewLogLine): Promise<void> {
    const process = row.n;
    const seq = (await this.repository.lastSeq(tx, process)) + 1;
    if (seq > linesMax) await this.drop(tx, row, seq - linesMax);
    await this.accounts.charge(tx, row, { storedBytes: bytes });
    await this.repository.insert(tx, { process, seq, at, text, facts });
  }

  /** Throws NO_SUCH_PROCESS. */
  list(input: unknown, rawOptions: unknown = {}): Promise<Page<LogLine>> {
    const pid = parsePid(input);
    const { limit, after } = parse(logsOptions, rawOptions, 'options');
    return this.store.read(async (tx) => {
      const { n } = await this.lookup.get(tx, pid);
      const rows = await this.repository.page(tx, n, Number(after ?? 0), limit + 1);
      const items = rows
        .slice(0, limit)
        .map(({ at, text, facts }): LogLine => (facts === null ? { at, text } : { at, text, facts }));
      return rows.length > limit ? { items, next: String(rows[limit - 1]?.seq) } : { items };
    });
  }

  private async drop(tx: WriteTx, row: ProcessRow, seq: number): Promise<void> {
    const oldest = await this.repository.find(tx, row.n, seq);
    if (oldest === undefined) return;
    const { text, facts } = oldest;
    const bytes = Buffer.byteLength(text) + (facts === null ? 0 : Buffer.byteLength(JSON.stringify(facts)));
    await this.accounts.addStored(tx, row, -bytes);
    await this.repository.remove(tx, row.n, seq);
  }
}
