import { and, asc, count, desc, eq, getTableColumns, gt, gte, isNull, lt, lte, type SQL, sql } from 'drizzle-orm';
import { lowerAscii } from '../../../base/characters.js';
import { scanRowsMax } from '../../../base/page.js';
import type { ReadTx } from '../../../base/store.js';
import { defaultQueue, type ProcessRow, processStatuses } from '../../../kernel/process/process.js';
import type {
  ProcessConditions,
  ProcessCount,
  ProcessPage,
  ProcessRange,
  ProcessScan,
} from '../../../kernel/process/process-repository.js';
import { processes, processTags } from '../../schema/processes.js';
import type { Dialect } from '../../statements/dialect.js';
import { prepareStatements } from '../../statements/prepare-statements.js';
import type { Db, StatementConnection } from '../../statements/statement-connection.js';
import { highestNumber } from '../../working-set/row-numbers.js';

const columns = getTableColumns(processes);
const placeholder = sql.placeholder;
/** Conditions that are not given hold for every row: the column is then compared with itself. */
const given = (name: string, otherwise: SQL) => sql`coalesce(${placeholder(name)}, ${otherwise})`;
const nameOf = sql`coalesce(${processes.name}, '')`;
const queueOf = sql`coalesce(${processes.queue}, '${sql.raw(defaultQueue)}')`;
const nodeOf = sql`coalesce(${processes.node}, '')`;

const image = sql`CAST(${placeholder('image')} AS text)`;
/** The image of a row is `name@version`, that of a condition may be a name only. */
const isImage = sql`coalesce(substr(${processes.image} || '@', 1, length(${image}) + 1) = ${image} || '@', true)`;

const meetsConditions = ({ inList }: Dialect) =>
  and(
    inList(processes.status, 'statuses'),
    sql`${processes.kind} = ${given('kind', sql`${processes.kind}`)}`,
    sql`${nameOf} = ${given('name', nameOf)}`,
    sql`${queueOf} = ${given('queue', queueOf)}`,
    sql`${nodeOf} = ${given('node', nodeOf)}`,
    isImage,
    gte(processes.createdAt, placeholder('createdFrom')),
    lte(processes.createdAt, placeholder('createdTo')),
  );

/** The labels are JSON: a value follows `:"`. */
const hasText = sql`(lower(${processes.name}) LIKE ${placeholder('prefix')} ESCAPE '\\'
  OR lower(${processes.pid}) LIKE ${placeholder('suffix')} ESCAPE '\\'
  OR lower(${processes.labels}) LIKE ${placeholder('label')} ESCAPE '\\')`;

const inRange = (n: typeof processes.n | typeof processTags.n) =>
  and(gt(n, placeholder('above')), lt(n, placeholder('below')));

const scanBy = (db: Db, selected: SQL | undefined) => {
  const inOrder = (order: typeof asc) =>
    db
      .select()
      .from(processes)
      .where(and(selected, inRange(processes.n)))
      .orderBy(order(processes.n))
      .limit(placeholder('limit'))
      .prepare();
  return { oldest: inOrder(asc), newest: inOrder(desc) };
};

const scanByTag = (db: Db) => {
  const { space, key, value, n } = processTags;
  const inOrder = (order: typeof asc) =>
    db
      .select(columns)
      .from(processTags)
      .innerJoin(processes, eq(processes.n, n))
      .where(
        and(eq(space, placeholder('space')), eq(key, placeholder('key')), eq(value, placeholder('value')), inRange(n)),
      )
      .orderBy(order(n))
      .limit(placeholder('limit'))
      .prepare();
  return { oldest: inOrder(asc), newest: inOrder(desc) };
};

const statements = prepareStatements((db: Db, { dialect }: StatementConnection) => ({
  all: scanBy(db, undefined),
  parent: scanBy(db, eq(processes.parent, placeholder('parent'))),
  root: scanBy(db, eq(processes.root, placeholder('root'))),
  pids: scanBy(db, dialect.inList(processes.pid, 'pids')),
  externalRef: scanBy(db, eq(processes.externalRef, placeholder('externalRef'))),
  status: scanBy(db, and(eq(processes.status, placeholder('status')), isNull(processes.exitedAt))),
  conditions: scanBy(db, meetsConditions(dialect)),
  text: scanBy(db, and(meetsConditions(dialect), hasText)),
  tag: scanByTag(db),
  count: db
    .select({ status: processes.status, kind: processes.kind, count: count() })
    .from(processes)
    .where(and(meetsConditions(dialect), inRange(processes.n)))
    .groupBy(processes.status, processes.kind)
    .prepare(),
}));

/** One page of a scan of the process table, and where the next one begins. */
export async function scanProcesses(tx: ReadTx, scan: ProcessScan, range: ProcessRange): Promise<ProcessPage> {
  if (scan.by === 'conditions') return scanByConditions(tx, scan.conditions, range);
  const { order, limit } = range;
  const page = { ...boundsOf(range, Number.MAX_SAFE_INTEGER), limit };
  const rows = await findRows(tx, scan, order, page);
  return rows.length < limit ? { rows } : { rows, next: rows.at(-1)?.n };
}

async function findRows(
  tx: ReadTx,
  scan: Exclude<ProcessScan, { by: 'conditions' }>,
  order: ProcessRange['order'],
  page: { above: number; below: number; limit: number },
): Promise<ProcessRow[]> {
  const all = statements.read(tx);
  switch (scan.by) {
    case 'all':
      return all.all[order].all(page);
    case 'parent':
      return all.parent[order].all({ ...page, parent: scan.parent });
    case 'root':
      return all.root[order].all({ ...page, root: scan.root });
    case 'pids':
      return all.pids[order].all({ ...page, pids: JSON.stringify(scan.pids) });
    case 'externalRef':
      return all.externalRef[order].all({ ...page, externalRef: scan.externalRef });
    case 'status':
      return all.status[order].all({ ...page, status: scan.status });
    case 'tag':
      return all.tag[order].all({ ...page, space: scan.space, key: scan.key, value: scan.value });
  }
}

/** Looks at no more than 10,000 row numbers. */
async function scanByConditions(
  tx: ReadTx,
  { text, ...conditions }: ProcessConditions,
  range: ProcessRange,
): Promise<ProcessPage> {
  const { order, limit } = range;
  const { part, next } = await partOf(tx, range);
  const values = { ...part, limit, ...conditionValues(conditions) };
  const all = statements.read(tx);
  const rows =
    text === undefined
      ? await all.conditions[order].all(values)
      : await all.text[order].all({ ...values, ...patternsOf(lowerAscii(text)) });
  return rows.length === limit ? { rows, next: rows.at(-1)?.n } : { rows, next };
}

/** Counts among the next 10,000 row numbers. */
export async function countProcesses(
  tx: ReadTx,
  conditions: Omit<ProcessConditions, 'text'>,
  after: number | undefined,
): Promise<{ counts: ProcessCount[]; next?: number | undefined }> {
  const { part, next } = await partOf(tx, { order: 'oldest', after });
  return { counts: await statements.read(tx).count.all({ ...part, ...conditionValues(conditions) }), next };
}

/** The next 10,000 row numbers of a range. */
async function partOf(tx: ReadTx, range: Omit<ProcessRange, 'limit'>) {
  const { above, below } = boundsOf(range, (await highestNumber(tx, 'processes')) + 1);
  if (range.order === 'oldest') {
    const end = Math.min(below, above + 1 + scanRowsMax);
    return { part: { above, below: end }, next: end === below ? undefined : end - 1 };
  }
  const end = Math.max(above, below - 1 - scanRowsMax);
  return { part: { above: end, below }, next: end === above ? undefined : end + 1 };
}

function boundsOf({ order, after }: Omit<ProcessRange, 'limit'>, end: number): { above: number; below: number } {
  return order === 'oldest' ? { above: after ?? 0, below: end } : { above: 0, below: Math.min(after ?? end, end) };
}

function conditionValues({ statuses = processStatuses, ...rest }: Omit<ProcessConditions, 'text'>) {
  const { kind = null, image = null, name = null, queue = null, node = null } = rest;
  const { createdFrom = 0, createdTo = Number.MAX_SAFE_INTEGER } = rest;
  return {
    statuses: JSON.stringify(statuses),
    kind,
    image,
    name,
    queue,
    node,
    createdFrom,
    createdTo,
  };
}

function patternsOf(text: string) {
  const label = JSON.stringify(text).slice(1, -1);
  return { prefix: `${likeText(text)}%`, suffix: `%${likeText(text)}`, label: `%:"${likeText(label)}%` };
}

function likeText(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}
