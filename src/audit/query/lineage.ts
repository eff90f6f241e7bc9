import type { CapabilityId, ObjectId, Pid } from '../../base/ids.js';
import { type Token, token } from '../../base/token.js';
import type { AuditRecord } from '../audit-record.js';

export interface LineageProcess {
  readonly pid: Pid;
  /** Who spawned it: the process it was born under, or `host`. */
  readonly spawnedBy: Pid | 'host';
  readonly image: string;
  readonly goal: ObjectId;
  readonly status: string;
  readonly outcome?: string;
  readonly createdAt: number;
  readonly exitedAt?: number;
}

export interface LineageCapability {
  readonly id: CapabilityId;
  readonly resource: string;
  readonly rights: readonly string[];
  readonly status: string;
  /** Itself first, up to the root grant; `grantedBy` of the last one says who gave it. */
  readonly chain: readonly { readonly id: CapabilityId; readonly holder: Pid; readonly grantedBy: string }[];
}

/** Where a process came from, what it held and by whose authority, and what happened to it. */
export interface Lineage {
  readonly process: LineageProcess;
  /** Those it was born under, nearest first. */
  readonly ancestors: readonly LineageProcess[];
  /** Everything it ever held. */
  readonly capabilities: readonly LineageCapability[];
  /** Its execs, signals, moves and limits, in order. */
  readonly history: readonly AuditRecord[];
}

/** Answers questions about processes for the audit log, which stands below them. */
export interface LineageQuery {
  /** Throws NO_SUCH_PROCESS. */
  lineage(pid: Pid): Promise<Lineage>;
}
export const LineageQuery: Token<LineageQuery> = token('LineageQuery');
