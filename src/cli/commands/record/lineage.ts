import type { LineageCapability, LineageProcess } from '../../../index.js';
import { type CommonOptions, withReadOnlyStore } from '../../open-store.js';
import { paint, writeJson, writeLine } from '../../output.js';
import { findPid } from '../../pids.js';
import { safeText } from '../../safe-text.js';
import { formatTime } from '../../times.js';
import { formatRecord } from './audit.js';

/** Prints a process's ancestors, its capabilities with their origins, and its history. */
export async function lineage(pidOrSuffix: string, options: CommonOptions): Promise<void> {
  const found = await withReadOnlyStore(options, async (kernel) =>
    kernel.audit.lineage(await findPid(kernel, pidOrSuffix)),
  );
  if (options.json === true) return writeJson(found);
  await writeLine(processLine(found.process));
  for (const ancestor of found.ancestors) await writeLine(`  under ${processLine(ancestor)}`);
  await writeLine(`\n${paint.bold('Capabilities')}`);
  for (const capability of found.capabilities) for (const line of capabilityLines(capability)) await writeLine(line);
  await writeLine(`\n${paint.bold('History')}`);
  for (const record of found.history) await writeLine(formatRecord(record));
}

function processLine({ pid, image, status, outcome, spawnedBy, createdAt }: LineageProcess): string {
  const outcomeNote = outcome === undefined || outcome === status ? '' : ` (${safeText(outcome, 40)})`;
  const by = spawnedBy === 'host' ? ' by the host' : '';
  return `${safeText(pid, 100)} ${safeText(image, 60)} ${status}${outcomeNote}, spawned${by} ${formatTime(createdAt)}`;
}

function capabilityLines({ id, resource, rights, status, chain }: LineageCapability): string[] {
  const origins = chain.map(({ id: link, holder, grantedBy }) =>
    paint.dim(`    ${safeText(link, 60)} held by ${safeText(holder, 60)}, from ${safeText(grantedBy, 60)}`),
  );
  return [`  ${safeText(resource, 100)} ${rights.join(',')} ${status} ${paint.dim(safeText(id, 60))}`, ...origins];
}
