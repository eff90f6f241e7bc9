import type { CapabilityId, ObjectId, Pid } from '../../base/ids.js';
import { type Token, token } from '../../base/token.js';
import type { AuditRecord } from '../audit-record.js';

export interface LineageProcess {
  readonly pid: Pid;
  /** The process that spawned it, or `host`. */
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
  /** The capability itself first, then its parents up to the root grant. */
  readonly chain: readonly { readonly id: CapabilityId; readonly holder: Pid; readonly grantedBy: string }[];
}

/** The origin of a process, the capabilities that it held, and its history. */
export interface Lineage {
  readonly process: LineageProcess;
  /** The processes that it was spawned under, nearest first. */
  readonly ancestors: readonly LineageProcess[];
  /** All capabilities that it ever held. */
  readonly capabilities: readonly LineageCapability[];
  /** Its execs, signals, moves and limits, in order. */
  readonly history: readonly AuditRecord[];
}

/** Lets the audit log answer questions about processes, which are a layer above it. */
export interface LineageQuery {
  /** Throws NO_SUCH_PROCESS. */
  lineage(pid: Pid): Promise<Lineage>;
}
export const LineageQuery: Token<LineageQuery> = token('LineageQuery');
