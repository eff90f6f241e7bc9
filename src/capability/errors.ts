import type { KernelErrorCode } from '../base/error/error-codes.js';
import { CapabilityError, ProcessError } from '../base/errors.js';
import type { CapabilityId, Pid } from '../base/ids.js';
import type { CapabilityStatus } from './holding/capability.js';
import type { CapabilityRecord } from './holding/capability-record.js';

/** Also used for a capability that exists, where the caller may not know of it. */
export function noSuchCapability(capability: CapabilityId): CapabilityError {
  return new CapabilityError(
    'NO_SUCH_CAPABILITY',
    `There is no capability ${JSON.stringify(capability)} to use here.`,
    {
      facts: { capability },
      hint: 'capabilities.list(pid) shows those that a process holds.',
    },
  );
}

/** The capability that was named as the source of another one is not live. */
export function sourceNotLive({ id, holder, resource }: CapabilityRecord, status: CapabilityStatus): CapabilityError {
  const details = {
    facts: { capability: id, pid: holder, resource, status },
    hint: `Name a live one of capabilities.list('${holder}'), or none: one that covers it is then chosen.`,
  };
  const message = `Capability ${id} is ${status}: nothing can be derived from it.`;
  if (status === 'expired') return new CapabilityError('CAPABILITY_EXPIRED', message, details);
  if (status === 'spent') return new CapabilityError('CAPABILITY_DENIED', message, details);
  return new CapabilityError('CAPABILITY_REVOKED', message, details);
}

/** The detail of a refusal to give a capability back up its own chain. */
export function chainProblem(pid: Pid): string {
  return `${pid} gave it, or stands above it in its chain`;
}

/** The process cannot hold, give or receive a capability. */
export function unusableHolder(code: KernelErrorCode, pid: Pid, problem: string): ProcessError {
  return new ProcessError(code, `Process ${JSON.stringify(pid)} ${problem}.`, {
    facts: { pid },
    hint: 'Name a live process that is not being stopped.',
  });
}
