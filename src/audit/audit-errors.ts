import { AuditError } from '../base/errors.js';

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
