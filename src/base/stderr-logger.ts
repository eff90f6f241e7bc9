import { cutToBytes, escapeUnprintable } from './characters.js';
import type { JsonObject } from './json.js';
import type { KernelLogger } from './logger.js';

const lineBytesMax = 1_024;
/** The rest of a line is left to its facts. */
const messageBytesMax = 512;
/** A message is written at most once in this time. */
const repeatMs = 10_000;
/** Messages that are remembered at once; beyond them the oldest is forgotten. */
const messagesMax = 200;

type Level = 'debug' | 'info' | 'warning' | 'error';

/** A message that was written lately. */
interface Repeated {
  readonly level: Level;
  readonly message: string;
  /** Since it was written last. */
  count: number;
  facts: JsonObject;
  readonly timer: NodeJS.Timeout;
}

/**
 * Writes to standard error: one line each, at most 1 KiB, with characters escaped that a terminal would obey. A message that
 * comes again within 10 s, with whatever facts, is counted, and written again at the end of that time with the count and the
 * facts of the last one.
 */
export class StderrLogger implements KernelLogger, Disposable {
  private readonly repeated = new Map<string, Repeated>();

  info(facts: JsonObject, message: string): void {
    this.tell('info', facts, message);
  }

  warn(facts: JsonObject, message: string): void {
    this.tell('warning', facts, message);
  }

  error(facts: JsonObject, message: string): void {
    this.tell('error', facts, message);
  }

  /** Written as often as it comes. */
  debug(facts: JsonObject, message: string): void {
    writeLine('debug', facts, message, '');
  }

  /** Writes the counts that are left. */
  [Symbol.dispose](): void {
    for (const key of [...this.repeated.keys()]) this.forget(key);
  }

  private tell(level: Level, facts: JsonObject, text: string): void {
    const message = text.slice(0, lineBytesMax);
    const key = `${level} ${message}`;
    const repeated = this.repeated.get(key);
    if (repeated !== undefined) {
      repeated.count++;
      repeated.facts = facts;
      return;
    }
    const [oldest] = this.repeated.keys();
    if (oldest !== undefined && this.repeated.size >= messagesMax) this.forget(oldest);
    const timer = setInterval(() => this.onTime(key), repeatMs).unref();
    this.repeated.set(key, { level, message, count: 0, facts, timer });
    writeLine(level, facts, message, '');
  }

  private onTime(key: string): void {
    const repeated = this.repeated.get(key);
    if (repeated === undefined) return;
    if (repeated.count === 0) this.forget(key);
    else writeCount(repeated);
    repeated.count = 0;
  }

  private forget(key: string): void {
    const repeated = this.repeated.get(key);
    if (repeated === undefined) return;
    this.repeated.delete(key);
    clearInterval(repeated.timer);
    if (repeated.count > 0) writeCount(repeated);
  }
}

function writeCount({ level, facts, message, count }: Repeated): void {
  writeLine(level, facts, message, ` (${count} more ${count === 1 ? 'time' : 'times'})`);
}

function writeLine(level: Level, facts: JsonObject, message: string, suffix: string): void {
  const head = cutToBytes(`procura: ${level}: ${escapeUnprintable(message)}`, messageBytesMax);
  const rest = lineBytesMax - Buffer.byteLength(head) - Buffer.byteLength(suffix) - Buffer.byteLength(' \n');
  const tail = textOf(facts);
  write(`${head}${suffix}${tail === '' ? '' : ` ${cutToBytes(tail, rest)}`}\n`);
}

function textOf(facts: JsonObject): string {
  try {
    return Object.keys(facts).length === 0 ? '' : escapeUnprintable(JSON.stringify(facts));
  } catch {
    return '';
  }
}

/** A reader of standard error that has gone does not end the program. */
function write(line: string): void {
  const { stderr } = process;
  stderr.once('error', ignore);
  try {
    stderr.write(line, (error) => {
      if (error != null && stderr.listenerCount('error') === 0) stderr.once('error', ignore);
    });
  } catch {
    // There is nobody else to tell.
  } finally {
    stderr.removeListener('error', ignore);
  }
}

function ignore(): void {
  // What could not be written is lost.
}
