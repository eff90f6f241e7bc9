import type { ApprovalId, CapabilityId } from '../base/ids.js';

/** On whose authority something is done, through which face, and when. */
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
}
