import type { JournalEntry } from '../../../index.js';
import { type CommonOptions, withReadOnlyStore } from '../../open-store.js';
import { writeJson, writeLine } from '../../output.js';
import { findPid } from '../../pids.js';
import { safeJson, safeText } from '../../safe-text.js';
import { drawTable } from '../../table.js';
import { formatTime } from '../../times.js';

export interface JournalCommandOptions extends CommonOptions {
  readonly values?: boolean;
}

/** Lists the calls of a body that are in its journal, with their answers on request. */
export async function journal(pidOrSuffix: string, options: JournalCommandOptions): Promise<void> {
  const values = options.values === true;
  const entries = await withReadOnlyStore(options, async (kernel) =>
    kernel.processes.journal(await findPid(kernel, pidOrSuffix), { values }),
  );
  if (options.json === true) return writeJson(entries);
  const headings = ['AT', 'STATUS', 'ATTEMPT', 'FENCE', 'CALL', ...(values ? ['VALUE'] : [])];
  await writeLine(
    drawTable(
      headings,
      entries.map((entry) => [...columnsOf(entry), ...(values ? [valueText(entry)] : [])]),
    ),
  );
}

function columnsOf({ at, status, attempt, fence, key }: JournalEntry): string[] {
  return [formatTime(at), status, String(attempt), String(fence), safeText(key, 300)];
}

function valueText({ value }: JournalEntry): string {
  return value === undefined ? '-' : safeText(safeJson(value), 500);
}
