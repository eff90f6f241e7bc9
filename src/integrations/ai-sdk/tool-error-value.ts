import { CapabilityError, KernelError, type ProcessFace, StoreError, type Syscalls } from '../../index.js';

/** A refusal or a failure as a model reads it. */
export type ToolErrorValue = {
  readonly error: {
    readonly code: string;
    readonly message: string;
    /** What would have to be held, where that is what was missing. */
    readonly missing?: { readonly right: string; readonly resource: string };
    readonly hint: string;
  };
};

/** Errors that are about the run itself: nothing that it does after them counts. */
const ending: ReadonlySet<string> = new Set(['RUN_ENDED', 'LEASE_LOST', 'NON_DETERMINISTIC', 'SHUTDOWN', 'STEP_OVER']);
/** Errors that end a run when they are about its own process. */
const endingOwn: ReadonlySet<string> = new Set(['PROCESS_TERMINATED', 'NO_SUCH_PROCESS']);

/** What the call of a tool was refused with, for a model to read. Throws the error again where it ends the run. */
export function toolErrorValue(face: ProcessFace, error: unknown): ToolErrorValue {
  const refusal = refusalIn(face, error);
  const { code, message, hint } = refusal;
  const missing = missingIn(refusal);
  return { error: { code, message, ...(missing === undefined ? {} : { missing }), hint } };
}

/** The error as a refusal that the process can live with. Throws it again where it is none. */
export function refusalIn(face: ProcessFace, error: unknown): KernelError {
  if (error instanceof KernelError && !endsRun(face, error)) return error;
  throw error;
}

function endsRun(face: ProcessFace, error: KernelError): boolean {
  const { code, facts } = error;
  if (code === 'CANCELLED') return isStopped(face);
  return error instanceof StoreError || ending.has(code) || (endingOwn.has(code) && facts.pid === face.pid);
}

/** A body that is not being stopped hears of a call that an earlier run gave up, which is an answer. */
function isStopped(face: ProcessFace): boolean {
  const { signal } = face as Partial<Syscalls>;
  return signal === undefined || signal.aborted;
}

function missingIn(error: KernelError): ToolErrorValue['error']['missing'] {
  const { right, resource } = error.facts;
  const isMissing = error instanceof CapabilityError && typeof right === 'string' && typeof resource === 'string';
  return isMissing ? { right, resource } : undefined;
}
