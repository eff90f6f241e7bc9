import type { Pid } from '../base/ids.js';

/** Which face a call came through. The host's own face is trusted; a process's face acts as that process. */
export type Caller = { readonly face: 'host' } | { readonly face: 'process'; readonly pid: Pid };

export const hostFace: Caller = { face: 'host' };

/** On whose authority something is done, through which face, and when. */
export interface Act {
  /** A pid, or `host`. */
  readonly actor: string;
  /** `process`, or `host:OPERATOR`. */
  readonly via: string;
  readonly at: number;
}
