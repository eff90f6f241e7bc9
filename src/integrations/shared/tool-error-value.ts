import { CapabilityError, KernelError, StoreError, type Syscalls } from '../../index.js';
import type { CallingFace } from './calling-face.js';

/** A refused or failed tool call as a value that a model can read. */
export type ToolErrorValue = {
  readonly error: {
    readonly code: string;
    readonly message: string;
    /** The right that the process lacks, where that is the reason. */
    readonly missing?: { readonly right: string; readonly resource: string };
    readonly hint: string;
  };
};

/** Errors of the run itself: nothing that the body does after them takes effect. */
const runEndingCodes: ReadonlySet<string> = new Set([
  'RUN_ENDED',
  'LEASE_LOST',
  'NON_DETERMINISTIC',
  'SHUTDOWN',
  'STEP_OVER',
]);
/** Errors that end the run when they are about its own process. */
const ownProcessEndingCodes: ReadonlySet<string> = new Set(['PROCESS_TERMINATED', 'NO_SUCH_PROCESS']);

/** The error of a tool call as a value for the model. Rethrows an error that ends the run. */
export function toolErrorValue(face: CallingFace, error: unknown): ToolErrorValue {
  const refusal = refusalFrom(face, error);
  const { code, message, hint } = refusal;
  const missing = missingRightOf(refusal);
  return { error: { code, message, ...(missing === undefined ? {} : { missing }), hint } };
}

/** The error, if it is a refusal after which the run goes on. Rethrows any other. */
export function refusalFrom(face: CallingFace, error: unknown): KernelError {
  if (error instanceof KernelError && !endsRun(face, error)) return error;
  throw error;
}

function endsRun(face: CallingFace, error: KernelError): boolean {
  const { code, facts } = error;
  if (code === 'CANCELLED') return isStopped(face);
  return (
    error instanceof StoreError ||
    runEndingCodes.has(code) ||
    (ownProcessEndingCodes.has(code) && facts.pid === face.pid)
  );
}

/** Without a stop, CANCELLED is the outcome of a call that an earlier run abandoned: a value for the model. */
function isStopped(face: CallingFace): boolean {
  const { signal } = face as Partial<Syscalls>;
  return !(signal instanceof AbortSignal) || signal.aborted;
}

function missingRightOf(error: KernelError): ToolErrorValue['error']['missing'] {
  const { right, resource } = error.facts;
  const isMissing = error instanceof CapabilityError && typeof right === 'string' && typeof resource === 'string';
  return isMissing ? { right, resource } : undefined;
}
