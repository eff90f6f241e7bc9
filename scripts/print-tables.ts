/*
 * Prints the lists of the code into the docs, between markers: the transition table into docs/architecture.md, error codes
 * into docs/errors.md, and all lists into docs/tables.md; and the results of
 * `npm run bench -- peers` and `npm run bench -- postgres` into docs/benchmarks.md and docs/scaling.md.
 *
 *   tsx scripts/print-tables.ts           writes the pages
 *   tsx scripts/print-tables.ts --check   fails when a page is not up to date
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { countsTable, type PeerResults, ratesTable, settingText } from '../bench/peer-results.js';
import { type PostgresResults, sumsTable } from '../bench/postgres-results.js';
import { atomTable, budgetTable, resourceTable } from './tables/authority.js';
import { errorPageTables, errorTable } from './tables/errors.js';
import { actionTable, eventTable } from './tables/events.js';
import { processEventTable, statusTable, transitionTable } from './tables/states.js';
import { builtinToolSections } from './tables/tools.js';

const peerResults = readResults<PeerResults>('peers-results.json');
const postgresResults = readResults<PostgresResults>('postgres-results.json');

const pages: Record<string, Record<string, () => string>> = {
  'architecture.md': { transitions: transitionTable },
  'benchmarks.md': {
    setting: () => settingText(peerResults),
    rates: () => ratesTable(peerResults),
    statements: () => countsTable(peerResults),
    'postgres setting': () => settingText(postgresResults),
    'postgres rates': () => ratesTable(postgresResults),
  },
  'errors.md': errorPageTables(),
  'scaling.md': {
    'postgres setting': () => settingText(postgresResults),
    'postgres sums': () => sumsTable(postgresResults),
  },
  'tables.md': {
    resources: resourceTable,
    atoms: atomTable,
    budgets: budgetTable,
    tools: builtinToolSections,
    events: eventTable,
    actions: actionTable,
    errors: errorTable,
    states: statusTable,
    'process events': processEventTable,
    transitions: transitionTable,
  },
};

for (const [name, tables] of Object.entries(pages)) {
  const page = fileURLToPath(new URL(`../docs/${name}`, import.meta.url));
  const before = readFileSync(page, 'utf8');
  let after = before;
  for (const [marker, draw] of Object.entries(tables)) after = withTable(after, marker, draw());
  if (before === after) continue;
  if (process.argv.includes('--check')) {
    process.stderr.write(`docs/${name} is stale. Run: npx tsx scripts/print-tables.ts\n`);
    process.exitCode = 1;
  } else writeFileSync(page, after);
}

function readResults<T>(file: string): T {
  return JSON.parse(readFileSync(new URL(`../bench/${file}`, import.meta.url), 'utf8')) as T;
}

function withTable(text: string, marker: string, table: string): string {
  const begin = `<!-- ${marker}: begin -->`;
  const from = text.indexOf(begin);
  const to = text.indexOf(`<!-- ${marker}: end -->`);
  if (from < 0 || to < from) throw new Error(`the page has no ${begin} … end`);
  return `${text.slice(0, from + begin.length)}\n\n${table}\n\n${text.slice(to)}`;
}
