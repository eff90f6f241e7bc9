import { z } from 'zod';
import { pageOptions, parseSpec } from '../base/spec.js';
import type { AuditRecord } from './audit-record.js';

const exact = z.string().min(1).max(4096).optional();
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
  ...pageOptions,
});

/** Selects records; `from` and `to` are times and included. */
export type AuditFilter = z.input<typeof schema>;
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
