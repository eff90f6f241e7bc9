import type { Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';
import type { Environment } from '../command/command.js';
import type { ProcessRow } from '../process/process.js';

/** The process that was spawned with an id. */
export interface Registration {
  readonly pid: Pid;
  /** Of the parent and the canonical spec. */
  readonly hash: string;
  /** The hash of each member of the spec, by its name. Null where an earlier release registered it. */
  readonly members: Readonly<Record<string, string>> | null;
}

/** A process, by the number of its row, and the environment that it was spawned with. */
export interface EnvironmentUse {
  readonly n: number;
  readonly env: string | null;
}

/** Optional parts of a spec that are stored beside the process row. */
export interface SpawnExtrasRepository {
  findRegistration(tx: ReadTx, parent: Pid | null, id: string): Promise<Registration | undefined>;
  insertRegistration(tx: WriteTx, parent: Pid | null, id: string, registration: Registration): Promise<void>;
  removeRegistration(tx: WriteTx, parent: Pid | null, id: string): Promise<void>;
  /** Labels and owner keys of a process row, for filters and scopes. */
  insertTags(tx: WriteTx, rowNumber: number, tags: Pick<ProcessRow, 'labels' | 'owner'>): Promise<void>;
  /** Stores an environment once per content hash. */
  insertEnvironment(tx: WriteTx, hash: string, variables: Environment): Promise<void>;
  /** The hashes of environments that processes name, in the order of the processes' row numbers. */
  pageEnvironmentUses(tx: ReadTx, after: number, limit: number): Promise<readonly EnvironmentUse[]>;
  removeEnvironment(tx: WriteTx, hash: string): Promise<void>;
  findEnvironment(tx: ReadTx, hash: string): Promise<Environment | undefined>;
}
export const SpawnExtrasRepository: Token<SpawnExtrasRepository> = token('SpawnExtrasRepository');
