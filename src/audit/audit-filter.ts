import { z } from 'zod';
import { logNumber, pageOptions, parseSpec, storedText } from '../base/spec.js';
import type { AuditOutcome } from './audit-entry.js';
import type { AuditRecord } from './audit-record.js';

const exact = storedText.min(1).max(4096).optional();
const time = z.number().optional();

const schema = z.strictObject({
  actor: exact,
  action: exact,
  target: exact,
  resource: exact,
  capability: exact,
  decision: exact,
  outcome: z.enum(['intent', 'ok', 'failed', 'refused', 'unknown']).optional(),
  from: time,
  to: time,
  order: z.enum(['asc', 'desc']).default('asc'),
  before: logNumber,
  ...pageOptions,
});

/** Selects audit records. Every member that is given must fit. */
export interface AuditFilter {
  /** The pid of the process that acted, `host`, or `kernel`. */
  readonly actor?: string;
  /** The action: docs/tables.md#audit-actions. */
  readonly action?: string;
  /** The target of the action, such as a pid or the id of an object. */
  readonly target?: string;
  /** The resource that a decision was about, such as `tool:search`. */
  readonly resource?: string;
  /** The id of the capability that allowed it. */
  readonly capability?: string;
  /** The code of the decision, such as `ALLOWED`. */
  readonly decision?: string;
  /** The outcome of the call; `intent` is recorded before an effect whose outcome follows. */
  readonly outcome?: AuditOutcome;
  /** The earliest time, in milliseconds since 1970. */
  readonly from?: number;
  /** The latest time, in milliseconds since 1970. */
  readonly to?: number;
  /** The largest number of records. */
  readonly limit?: number;
  /** `asc`, oldest first, is the default; `desc`: newest first. */
  readonly order?: 'asc' | 'desc';
  /** The cursor of the page before, its `next`: the number of its last record. */
  readonly after?: string;
  /** Only records with a lower number than this one. */
  readonly before?: string | number;
}
export type ParsedAuditFilter = z.output<typeof schema>;

/** Throws INVALID_INPUT. */
export function parseAuditFilter(filter: unknown): ParsedAuditFilter {
  return parseSpec(schema, filter, 'filter');
}

const comparedFields = ['actor', 'action', 'target', 'resource', 'capability', 'decision', 'outcome'] as const;

export function matchesAuditFilter(filter: ParsedAuditFilter, record: AuditRecord): boolean {
  if (filter.from !== undefined && record.at < filter.from) return false;
  if (filter.to !== undefined && record.at > filter.to) return false;
  return comparedFields.every((field) => filter[field] === undefined || filter[field] === record[field]);
}
