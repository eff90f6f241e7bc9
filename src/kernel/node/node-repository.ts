import type { NodeId } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';

/** Identifies an OS process of one machine, also after a reboot or when its pid was used again. */
export interface HostIdentity {
  /** The machine. */
  readonly machine: string;
  /** The boot of the machine. */
  readonly boot: string;
  /** The pid of the operating system. */
  readonly pid: number;
  /** When the OS process started, in ticks since the boot. */
  readonly startTicks: string;
}

/** What a node can run, as it says in its row. */
export interface NodeOffers {
  /** By `name@version`. */
  readonly images: Readonly<Record<string, OfferedImage>>;
  /** The names of its tools. */
  readonly tools: readonly string[];
  readonly queues: readonly string[];
}

interface OfferedImage {
  readonly build: string;
  /** The tools that a process of it needs, as names or patterns. */
  readonly tools: readonly string[];
  /** Whether its processes are conversations; absent: no. */
  readonly conversation?: boolean;
}

/** A kernel that runs processes, with its lease. */
export interface NodeRow {
  readonly id: NodeId;
  readonly name: string | null;
  /** Grows when a node that was taken for lost comes back. */
  readonly epoch: number;
  /** By the node's own clock: other nodes judge by whether the row changes. */
  readonly expiresAt: number;
  /** The longest time that the row of a live node stays unchanged. Null in rows of earlier releases. */
  readonly leaseMs: number | null;
  /** Grows with every renewal, also when the node's clock stands still. */
  readonly renewals: number;
  /** Null in rows of earlier releases. */
  readonly offers: NodeOffers | null;
  readonly host: HostIdentity;
  readonly startedAt: number;
  readonly endedAt: number | null;
}

export type NodeLeaseState = Pick<NodeRow, 'epoch' | 'endedAt'>;

export interface NodeRepository {
  find(tx: ReadTx, id: NodeId): Promise<NodeRow | undefined>;
  /** The rows of these nodes, in their order, without those that are not there. */
  findAll(tx: ReadTx, ids: readonly NodeId[]): Promise<NodeRow[]>;
  /** The part of the row that says whether its lease stands. */
  findLease(tx: ReadTx, id: NodeId): Promise<NodeLeaseState | undefined>;
  /** Nodes whose epoch has not ended. */
  findLive(tx: ReadTx): Promise<NodeRow[]>;
  put(tx: WriteTx, node: NodeRow): Promise<void>;
  /** Writes the end of the lease and counts the renewal, without the rest of the row. */
  renew(tx: WriteTx, id: NodeId, expiresAt: number): Promise<void>;
  setOffers(tx: WriteTx, id: NodeId, offers: NodeOffers): Promise<void>;
}
export const NodeRepository: Token<NodeRepository> = token('NodeRepository');
