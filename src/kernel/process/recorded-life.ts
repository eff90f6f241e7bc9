import type { AuditRecord } from '../../audit/audit-record.js';
import type { LineageProcess } from '../../audit/query/lineage.js';
import type { Pid } from '../../base/ids.js';
import { spawnActions } from '../../capability/decision/recorded-grants.js';

/** The records that tell where a process came from, which program it has, and how it ended. */
export interface RecordedLife {
  readonly spawn?: AuditRecord;
  /** The newest. */
  readonly exec?: AuditRecord;
  readonly end?: AuditRecord;
}

export function lifeIn(records: readonly AuditRecord[], pid: Pid): RecordedLife {
  const all = records.filter(({ outcome, target }) => outcome === 'ok' && target === pid);
  // The id of a pruned process may have been given again: the newest life counts.
  const spawn = all.findLast(({ action }) => spawnActions.has(action));
  const own = all.filter(({ seq }) => spawn === undefined || seq >= spawn.seq);
  const exec = own.findLast(({ action }) => action === 'process.exec');
  const end = own.find(isEnd);
  return {
    ...(spawn === undefined ? {} : { spawn }),
    ...(exec === undefined ? {} : { exec }),
    ...(end === undefined ? {} : { end }),
  };
}

/** Whether a record is the end of its target. */
function isEnd({ facts }: AuditRecord): boolean {
  return facts?.outcome !== undefined && facts.result !== undefined;
}

/** Whether a record stands in the history of a process: its origin, its end and what it was given stand elsewhere. */
export function isHistory(record: AuditRecord): boolean {
  return !spawnActions.has(record.action) && !isEnd(record) && !receivingActions.has(record.action);
}

const receivingActions: ReadonlySet<string> = new Set(['memory.share', 'message.send']);

/** `liveStatus`: for a process that has not ended. */
export function toLineageProcess(
  pid: Pid,
  spawn: AuditRecord,
  { exec, end }: RecordedLife,
  liveStatus: string,
): LineageProcess {
  const { image, goal } = { ...spawn.facts, ...exec?.facts };
  return {
    pid,
    spawnedBy: spawn.action === 'process.spawn' ? 'host' : spawn.actor,
    image: String(image),
    goal: String(goal),
    status: end?.after ?? liveStatus,
    ...(end === undefined ? {} : { outcome: String(end.facts?.outcome) }),
    createdAt: spawn.at,
    ...(end === undefined ? {} : { exitedAt: end.at }),
  };
}
