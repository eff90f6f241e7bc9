/*
 * Prints the lists of the code into the docs, between markers: the transition table into docs/architecture.md, event types,
 * audit actions and the other lists into docs/tables.md.
 *
 *   tsx scripts/print-tables.ts           writes the pages
 *   tsx scripts/print-tables.ts --check   fails when a page is not up to date
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { eventTypes } from '../src/events/event.js';
import { processEvents, transitions } from '../src/kernel/process/transitions.js';
import { auditActions } from '../src/unit/actions.js';

const pages: Record<string, Record<string, () => string>> = {
  'architecture.md': { transitions: transitionTable },
  'tables.md': { events: eventTable, actions: actionTable },
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

function withTable(text: string, marker: string, table: string): string {
  const begin = `<!-- ${marker}: begin -->`;
  const from = text.indexOf(begin);
  const to = text.indexOf(`<!-- ${marker}: end -->`);
  if (from < 0 || to < from) throw new Error(`the page has no ${begin} … end`);
  return `${text.slice(0, from + begin.length)}\n\n${table}\n\n${text.slice(to)}`;
}

/** A row per state, a column per event; an empty cell is a refusal. */
function transitionTable(): string {
  const states = Object.entries(transitions).map(([state, events]: [string, Partial<Record<string, string>>]) => [
    `**${state}**`,
    ...processEvents.map((event) => events[event] ?? ''),
  ]);
  return table(['', ...processEvents], states);
}

function eventTable(): string {
  const rows = Object.entries(eventTypes).map(([type, { description }]) => [`\`${type}\``, description]);
  return table(['type', 'when'], rows);
}

function actionTable(): string {
  const rows = Object.entries(auditActions).map(([action, description]) => [`\`${action}\``, description]);
  return table(['action', 'what was done'], rows);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
