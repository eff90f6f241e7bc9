import type { CapabilityId, ObjectId, Pid } from '../../base/ids.js';
import { type Token, token } from '../../base/token.js';
import type { AuditRecord } from '../audit-record.js';

/** A process of a lineage. */
export interface LineageProcess {
  readonly pid: Pid;
  /** The process that spawned it, or `host`. */
  readonly spawnedBy: Pid | 'host';
  readonly image: string;
  readonly goal: ObjectId;
  /** As the newest record of a change of its status tells it. */
  readonly status: string;
  /** The kind of its outcome, once it has ended. */
  readonly outcome?: string;
  readonly createdAt: number;
  readonly exitedAt?: number;
}

/** A capability that a process was given. */
export interface LineageCapability {
  readonly id: CapabilityId;
  /** Its pattern of resources. */
  readonly resource: string;
  /** Its rights. */
  readonly rights: readonly string[];
  /** `live`, `revoked`, `expired`, `spent` or `ended`; `missing`: it is not recorded, and the tables do not have it. */
  readonly status: string;
  /** The log does not tell of the grant, or not all that the status depends on, as in older versions: this is what the tables say. */
  readonly unrecorded?: true;
  /** The capability itself first, then its parents up to the root grant. */
  readonly chain: readonly LineageLink[];
}

/** A capability of a chain. */
interface LineageLink {
  readonly id: CapabilityId;
  readonly holder: Pid;
  /** The pid of the process that delegated it, or `host`. */
  readonly grantedBy: string;
  /** The log does not tell of the grant: this is what the tables say. */
  readonly unrecorded?: true;
}

/** The origin of a process, the capabilities that it held, and its history. */
export interface Lineage {
  /** The process itself. */
  readonly process: LineageProcess;
  /** The processes that it was spawned under, nearest first. */
  readonly ancestors: readonly LineageProcess[];
  /** All capabilities that it was given, in this order, without those that it gave away. */
  readonly capabilities: readonly LineageCapability[];
  /** Its execs, signals, moves and limits, in order. */
  readonly history: readonly AuditRecord[];
}

/** Lets the audit log answer questions about processes, which are a layer above it. */
export interface LineageQuery {
  /** Throws NO_SUCH_PROCESS; AUDIT_BROKEN where the log does not tell of a process that the tables have. */
  lineage(pid: Pid): Promise<Lineage>;
}
export const LineageQuery: Token<LineageQuery> = token('LineageQuery');
