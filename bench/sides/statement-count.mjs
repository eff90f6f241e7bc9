/** Counts the statements of one connection, in the order in which they are run. */
export class StatementCount {
  reads = 0;
  writes = 0;
  /** BEGIN, COMMIT, SAVEPOINT and RELEASE. */
  control = 0;
  /** Commits of a transaction that wrote, and writes outside of a transaction. */
  commits = 0;
  #isOpen = false;
  #hasWritten = false;

  add(sql) {
    const kind = kindOf(sql);
    if (kind === 'read') this.reads++;
    else if (kind === 'write') this.#addWrite();
    else this.#addControl(kind);
  }

  #addWrite() {
    this.writes++;
    if (this.#isOpen) this.#hasWritten = true;
    else this.commits++;
  }

  #addControl(kind) {
    this.control++;
    if (kind === 'nested') return;
    if (kind === 'commit' && this.#hasWritten) this.commits++;
    this.#isOpen = kind === 'begin';
    this.#hasWritten = false;
  }
}

/** The sums of several connections. */
export function sumOf(counts) {
  const all = [...counts];
  const sum = (of) => all.reduce((total, count) => total + of(count), 0);
  return {
    statements: sum(({ reads, writes, control }) => reads + writes + control),
    reads: sum(({ reads }) => reads),
    writes: sum(({ writes }) => writes),
    control: sum(({ control }) => control),
    commits: sum(({ commits }) => commits),
  };
}

/** The sums of several connections, per operation. */
export function perOperation(counts, operations) {
  return mapValues(sumOf(counts), (total) => total / operations);
}

/** What one operation adds, given the sums after each of many: the median, because work in the background adds to some. */
export function medianStep(sums) {
  return mapValues(sums[0], (_, name) => {
    const steps = sums.slice(1).map((sum, index) => sum[name] - sums[index][name]);
    return steps.sort((a, b) => a - b)[Math.floor(steps.length / 2)];
  });
}

function mapValues(record, map) {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value, name)]));
}

/** What a statement does to the transaction that it is in. */
export function kindOf(sql) {
  const words = sql.trimStart().toUpperCase();
  if (words.startsWith('BEGIN') || words.startsWith('START TRANSACTION')) return 'begin';
  if (words.startsWith('COMMIT')) return 'commit';
  if (/^(SAVEPOINT|RELEASE|ROLLBACK TO)\b/.test(words)) return 'nested';
  if (words.startsWith('ROLLBACK')) return 'rollback';
  if (/^(INSERT|UPDATE|DELETE|REPLACE)\b/.test(words)) return 'write';
  return words.startsWith('WITH') && /\b(INSERT INTO|UPDATE|DELETE FROM)\b/.test(words) ? 'write' : 'read';
}
