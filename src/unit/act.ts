import type { ApprovalId, CapabilityId, Pid } from '../base/ids.js';

/** The actor of a unit, the face that the call came through, and the time. */
export interface Act {
  /** A pid, `host` or `kernel`. */
  readonly actor: string;
  /** `process`, or `host:OPERATOR`. */
  readonly via: string;
  readonly at: number;
  /** The capability that the actor uses, where one is known for the whole call. */
  readonly capability?: CapabilityId | 'kin';
  /** The approval that waives a rule which asks, where one is known for the whole call. */
  readonly approval?: ApprovalId;
  /** The id of the record that caused the unit, such as the start of the step that a call was made in. */
  readonly cause?: string;
}

/** Who pauses or resumes by this act: the process that calls through its face, otherwise the host. */
export function signallerOf({ actor, via }: Act): Pid | 'host' {
  return via === 'process' ? actor : 'host';
}
