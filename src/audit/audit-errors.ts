import { AuditError } from '../base/errors.js';
import type { Fault } from './verify/verify-report.js';

export function noSuchRecord(seq: number): AuditError {
  return new AuditError('NO_SUCH_RECORD', `There is no audit record ${seq}.`, {
    facts: { seq },
    hint: 'List the log to see which records there are.',
  });
}

export function noPayload(seq: number): AuditError {
  return new AuditError('NO_PAYLOAD', `Audit record ${seq} has no payload to erase.`, {
    facts: { seq },
    hint: 'Only resource text and payloads can be erased; ids and codes stay.',
  });
}

export function alreadyErased(seq: number): AuditError {
  return new AuditError('ALREADY_ERASED', `The payload of audit record ${seq} was erased before.`, {
    facts: { seq },
    hint: 'Nothing is left to erase.',
  });
}

export function auditBroken(fault: Fault): AuditError {
  return new AuditError('AUDIT_BROKEN', `The audit log is broken at record ${fault.seq}: ${fault.detail}`, {
    facts: { ...fault },
    hint: 'Open it with { readOnly: true } to list, verify and export it; restore it from a copy that verifies.',
  });
}

/** Thrown where the tables of the store tell something that the log does not, or the reverse. */
export function notOnRecord(detail: string, facts: { readonly [name: string]: string | number }): AuditError {
  return new AuditError('AUDIT_BROKEN', `The log and the tables of the store differ: ${detail}`, {
    facts,
    hint: 'Somebody has changed the tables or the log. Verify the log; restore the store from a copy that verifies.',
  });
}
