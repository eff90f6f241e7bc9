import Database from 'better-sqlite3';
import { kindOf, StatementCount } from './statement-count.mjs';

/** What is recorded now; nothing while it is undefined. */
let recording;

/**
 * From now on the statements that this program prepares with better-sqlite3 can be recorded. Has to be called before they are
 * prepared.
 */
export function watchStatements() {
  const { prepare } = Database.prototype;
  Database.prototype.prepare = function (sql) {
    const statement = prepare.call(this, sql);
    for (const method of ['run', 'get', 'all', 'iterate']) {
      const execute = statement[method];
      statement[method] = function (...args) {
        const result = execute.apply(this, args);
        recording?.add({ connection: statement.database, sql, method, args, result });
        return result;
      };
    }
    return statement;
  };
}

/** Records the statements that are run while `work` runs, which gets the recording. */
export async function recordStatements(work) {
  const recorded = new Recording();
  recording = recorded;
  try {
    await work(recorded);
  } finally {
    recording = undefined;
  }
  return recorded;
}

class Recording {
  /** Of each connection. */
  counts = new Map();
  /** Inserts, updates and deletes with the values that were bound, in their order. */
  writes = [];
  /** The numbers of writes after which a transaction was committed. */
  commits = [];

  add({ connection, sql, method, args, result }) {
    const kind = kindOf(sql);
    const count = this.counts.get(connection) ?? new StatementCount();
    this.counts.set(connection, count.add(sql) ?? count);
    if (/^\s*ROLLBACK/i.test(sql)) throw new Error('What was rolled back must not be replayed.');
    if (kind === 'write') this.writes.push({ sql, method, args: args.map(copyOf), changes: result?.changes ?? 0 });
    if (kind === 'commit' && this.writes.length > (this.commits.at(-1) ?? 0)) this.commits.push(this.writes.length);
  }
}

/** Bound values can be in arrays and buffers that their owner uses again. */
function copyOf(value) {
  if (Buffer.isBuffer(value)) return Buffer.from(value);
  return Array.isArray(value) ? value.map(copyOf) : value;
}
