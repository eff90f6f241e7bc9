import { createColors } from 'picocolors';
import type { ProcessStatus } from '../index.js';
import { safeJson } from './safe-text.js';

const { env, stdout } = process;
const hasColours = stdout.isTTY === true && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb';

/** Colours on a terminal that supports them, plain text everywhere else. */
export const paint = createColors(hasColours);

const statusColours: Record<ProcessStatus, (text: string) => string> = {
  created: paint.cyan,
  runnable: paint.cyan,
  running: paint.green,
  waiting: paint.yellow,
  paused: paint.yellow,
  stopping: paint.magenta,
  exited: paint.dim,
  failed: paint.red,
  killed: paint.red,
  abandoned: paint.red,
};

export function paintStatus(status: ProcessStatus): string {
  return statusColours[status](status);
}

/** Writes one line, and waits while the output is full. */
export async function writeLine(line: string): Promise<void> {
  if (stdout.write(`${line}\n`)) return;
  await new Promise<void>((resolve) => {
    stdout.once('drain', resolve);
  });
}

export function writeJson(value: unknown): Promise<void> {
  return writeLine(safeJson(value, 2));
}

export function writeJsonLine(value: unknown): Promise<void> {
  return writeLine(safeJson(value));
}
