import Table from 'cli-table3';
import { paint } from './output.js';

const borderless = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
};

/** Columns under headings, without lines. Cells must have gone through `safeText`. */
export function drawTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const table = new Table({
    head: headings.map((heading) => paint.dim(heading)),
    chars: borderless,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
  table.push(...rows.map((row) => [...row]));
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}
