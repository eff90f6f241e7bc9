import type { AuditRecord } from '../../audit/audit-record.js';
import type { LineageProcess } from '../../audit/query/lineage.js';
import type { Pid } from '../../base/ids.js';
import { isEnd, spawnActions } from '../../capability/decision/recorded-grants.js';

/** The records that tell where a process came from, and which program it has. */
export interface RecordedLife {
  readonly spawn?: AuditRecord;
  /** The newest. */
  readonly exec?: AuditRecord;
}

export function lifeIn(records: readonly AuditRecord[], pid: Pid): RecordedLife {
  const all = records.filter(({ outcome, target }) => outcome === 'ok' && target === pid);
  // The id of a pruned process may have been given again: the newest life counts.
  const spawn = all.findLast(({ action }) => spawnActions.has(action));
  const own = all.filter(({ seq }) => spawn === undefined || seq >= spawn.seq);
  const exec = own.findLast(({ action }) => action === 'process.exec');
  return {
    ...(spawn === undefined ? {} : { spawn }),
    ...(exec === undefined ? {} : { exec }),
  };
}

/** Whether a record stands in the history of a process: its origin, ends, and what it was given stand elsewhere. */
export function isHistory(record: AuditRecord): boolean {
  return !spawnActions.has(record.action) && !isEnd(record) && !receivingActions.has(record.action);
}

const receivingActions: ReadonlySet<string> = new Set(['memory.share', 'message.send', 'capability.prune']);

/** `state`: the newest record that tells the status of the process. */
export function toLineageProcess(
  pid: Pid,
  spawn: AuditRecord,
  exec: AuditRecord | undefined,
  state: AuditRecord,
): LineageProcess {
  const end = isEnd(state) ? state : undefined;
  const { image, goal } = { ...spawn.facts, ...exec?.facts };
  return {
    pid,
    spawnedBy: spawn.action === 'process.spawn' ? 'host' : spawn.actor,
    image: String(image),
    goal: String(goal),
    status: String(state.after),
    ...(end === undefined ? {} : { outcome: String(end.facts?.outcome) }),
    createdAt: spawn.at,
    ...(end === undefined ? {} : { exitedAt: end.at }),
  };
}
