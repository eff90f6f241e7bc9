/*
 * Prints the transition table into docs/architecture.md, between its markers.
 *
 *   tsx scripts/print-transitions.ts           writes the page
 *   tsx scripts/print-transitions.ts --check   fails when the page is not up to date
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { processEvents, type TransitionTable, transitions } from '../src/kernel/process/transitions.js';

const page = fileURLToPath(new URL('../docs/architecture.md', import.meta.url));
const begin = '<!-- transitions: begin -->';
const end = '<!-- transitions: end -->';

const before = readFileSync(page, 'utf8');
const after = withTable(before, drawTable(transitions));
if (process.argv.includes('--check')) {
  if (before !== after) {
    process.stderr.write('docs/architecture.md is stale. Run: npx tsx scripts/print-transitions.ts\n');
    process.exitCode = 1;
  }
} else if (before !== after) {
  writeFileSync(page, after);
}

function withTable(text: string, table: string): string {
  const from = text.indexOf(begin);
  const to = text.indexOf(end);
  if (from < 0 || to < from) throw new Error(`docs/architecture.md has no ${begin} … ${end}`);
  return `${text.slice(0, from + begin.length)}\n\n${table}\n\n${text.slice(to)}`;
}

/** A row per state, a column per event; an empty cell is a refusal. */
function drawTable(table: TransitionTable): string {
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const states = Object.entries(table).map(([state, events]) =>
    row([`**${state}**`, ...processEvents.map((event) => events[event] ?? '')]),
  );
  return [row(['', ...processEvents]), row(['---', ...processEvents.map(() => '---')]), ...states].join('\n');
}
