import type { ApprovalId, CapabilityId, Pid } from '../base/ids.js';

/** Which face a call came through. The host's own face is trusted; a process's face acts as that process. */
export type Caller = { readonly face: 'host' } | { readonly face: 'process'; readonly pid: Pid };

export const hostFace: Caller = { face: 'host' };

/** How much of an answer the caller may know, before there is an act. */
export function viaOf({ face }: Caller): { readonly via: string } {
  return { via: face };
}

/** On whose authority something is done, through which face, and when. */
export interface Act {
  /** A pid, or `host`. */
  readonly actor: string;
  /** `process`, or `host:OPERATOR`. */
  readonly via: string;
  readonly at: number;
  /** By which the actor does it, where that is known for the whole call. */
  readonly capability?: CapabilityId | 'kin';
  /** By which a rule that asks was waived, where that is known for the whole call. */
  readonly approval?: ApprovalId;
}

/** What is being called, for the record: by whom, and upon what. */
export interface Call {
  readonly caller: Caller;
  /** The process that a host call acts for, or `host` for the host's own acts. The process face acts as itself. */
  readonly actor: Pid | 'host';
  readonly action: string;
  readonly target?: Pid;
}
