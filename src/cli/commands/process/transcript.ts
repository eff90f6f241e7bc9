import type { JsonValue, StoredObject } from '../../../index.js';
import { type CommonOptions, withReadOnlyStore } from '../../open-store.js';
import { paint, writeJson, writeLine } from '../../output.js';
import { findPid } from '../../pids.js';
import { safeJson, safeText } from '../../safe-text.js';

const lineMax = 4_096;

/** Prints what a process was told and said. */
export async function transcript(pidOrSuffix: string, options: CommonOptions): Promise<void> {
  const found = await withReadOnlyStore(options, async (kernel) =>
    kernel.processes.transcript(await findPid(kernel, pidOrSuffix)),
  );
  if (options.json === true) return writeJson(found ?? null);
  for (const line of linesOf(found)) await writeLine(line);
}

function linesOf(found: StoredObject | undefined): string[] {
  if (found === undefined) return ['The process keeps no transcript.'];
  if (found.payload === null) return ['The transcript was erased.'];
  const { messages } = found.payload as { messages?: JsonValue };
  if (!Array.isArray(messages)) return [safeText(safeJson(found.payload), lineMax)];
  return messages.flatMap((message) => messageLines(message));
}

function messageLines(message: JsonValue): string[] {
  const { role, text } = (message ?? {}) as { role?: JsonValue; text?: JsonValue };
  if (typeof role !== 'string' || typeof text !== 'string') return [safeText(safeJson(message), lineMax)];
  const [first = '', ...rest] = text.split('\n').map((line) => safeText(line, lineMax));
  return [`${paint.bold(safeText(role, 40))}: ${first}`, ...rest.map((line) => `  ${line}`)];
}
