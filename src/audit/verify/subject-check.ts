import type { StoredRecord } from '../audit-repository.js';
import type { AuditBody } from '../writing/record-encoding.js';
import type { Fault } from './verify-report.js';

/** Actions whose records are always part of the lineage of their target. */
const lineageActions: ReadonlySet<string> = new Set(
  `approval.request approval.answer capability.grant capability.delegate capability.derive capability.transfer
  capability.revoke capability.prune capability.deny capability.ask capability.lift process.exec process.chdir
  process.reparent process.pause process.resume process.signal process.retry budget.set`.split(/\s+/),
);
/** Actions that are part of the lineage of their target when they begin a stop; its end is not. */
const stopActions: ReadonlySet<string> = new Set(['process.cancel', 'process.kill']);
/** Actions that create a process. Records with the fact `authority`, which older versions did not write, are part of its lineage. */
const spawnActions: ReadonlySet<string> = new Set(['process.spawn', 'process.spawnChild', 'process.fork']);
/** Actions that may come with a grant to their target. Records that tell its limits, which older versions did not write, are part of the lineage. */
const grantingActions: ReadonlySet<string> = new Set(['memory.share', 'message.send', 'process.wait']);
/** Actions whose records are always part of the provenance of the object that they made. */
const provenanceActions: ReadonlySet<string> = new Set(['memory.create', 'memory.update', 'tool.call']);

/**
 * Compares the index of a record, by which lineage and provenance find it, with its body. A record that must be found has to be
 * indexed; no record is indexed by a process or an object that its body does not name.
 */
export function checkSubject({ seq, body }: StoredRecord, subject: string | undefined): Fault | undefined {
  const members = parseBody(body);
  if (members === undefined) return undefined;
  const required = requiredSubject(members);
  const isRight = required === undefined ? isNamed(members, subject) : subject === required;
  if (isRight) return undefined;
  return { seq, kind: 'EDITED', detail: `The index of record ${seq} does not fit its body.` };
}

function requiredSubject({ action, outcome, target, after, facts }: AuditBody): string | undefined {
  if (outcome !== 'ok') return undefined;
  if (provenanceActions.has(action)) return typeof facts?.object === 'string' ? facts.object : undefined;
  // The end of a child tells what its parent inherits; older versions did not name the heir.
  if (facts?.outcome !== undefined && typeof facts.heir === 'string') return facts.heir;
  const isStop = stopActions.has(action) && after === 'stopping';
  const isSpawn = spawnActions.has(action) && facts?.authority !== undefined;
  const isGrant = grantingActions.has(action) && tellsLimits(facts);
  const isLineage = lineageActions.has(action) || isStop || isSpawn || isGrant;
  return isLineage && target !== '*' ? target : undefined;
}

function tellsLimits(facts: AuditBody['facts'] = {}): boolean {
  return [[facts], facts.authority, facts.given].some(
    (grants) => Array.isArray(grants) && grants.some((grant) => Object(grant).limits !== undefined),
  );
}

function isNamed({ target, facts }: AuditBody, subject: string | undefined): boolean {
  return subject === undefined || subject === target || subject === facts?.object;
}

function parseBody(body: string): AuditBody | undefined {
  try {
    return JSON.parse(body) as AuditBody;
  } catch {
    // The check of the chain has compared its hash: it was written so.
    return undefined;
  }
}
