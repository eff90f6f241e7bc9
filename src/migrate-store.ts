import 'reflect-metadata';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { auditBroken } from './audit/audit-errors.js';
import { noCheckpointSink } from './audit/checkpoint/checkpoint-sink.js';
import { AuditVerifier } from './audit/verify/audit-verifier.js';
import type { VerifyReport } from './audit/verify/verify-report.js';
import { parseStoreAddress, realFile } from './base/address/store-address.js';
import { type InputError, invalidInput, ProcessError, StoreError } from './base/errors.js';
import type { NodeId } from './base/ids.js';
import type { Hash } from './base/json.js';
import { isAbortSignal, parseSpec } from './base/spec.js';
import type { ReadTx } from './base/store.js';
import { StateCopy } from './storage/files/state-copy.js';
import {
  oldPathsOf,
  prepareStateFolder,
  type StatePaths,
  stateFolderOfLog,
  statePathsOf,
} from './storage/files/state-folder.js';
import { SqlAuditRepository } from './storage/repository/sql-audit-repository.js';
import { SqlNodeRepository } from './storage/repository/sql-node-repository.js';
import {
  assertNotCancelled,
  copyRows,
  type MovableAddress,
  openSource,
  openTarget,
} from './storage/transfer/transfer.js';
import type { TransferSource, TransferTarget } from './storage/transfer/transfer-store.js';

/** Options of `migrateStore`. */
export interface MigrateOptions {
  /** The store that is moved: an address as `createKernel` takes it, but for `:memory:`. */
  readonly from: string;
  /** The store that is made: a file that is not there, or a schema without tables. */
  readonly to: string;
  /** The state folder of the source, where the kernel was opened with one (`createKernel({ state })`). */
  readonly fromState?: string;
  /** The state folder of the target, where the kernel will be opened with one. */
  readonly toState?: string;
  /** Whether the signing key is copied, too. Default: false; the target gets a new key, and its first checkpoint says so. */
  readonly withKey?: boolean;
  /** Gives the move up, until the target is committed. */
  readonly signal?: AbortSignal;
}

/** A store that was moved. */
export interface MigrateReport {
  /** The number of rows of all tables. */
  readonly rows: number;
  /** The number of audit records. */
  readonly records: number;
  /** The root of the audit log, the same in both stores. */
  readonly root: Hash;
  /** The state folder of the target; null where the store has no log yet. */
  readonly state: string | null;
}

const optionsSchema = z.strictObject({
  from: z.string().min(1),
  to: z.string().min(1),
  fromState: z.string().min(1).optional(),
  toState: z.string().min(1).optional(),
  withKey: z.boolean().default(false),
  signal: z.custom<AbortSignal>(isAbortSignal, 'is no AbortSignal').optional(),
});

/** The move itself: see `migrateStore` of the package. */
export async function moveStore(rawOptions: MigrateOptions): Promise<MigrateReport> {
  const options = parseSpec(optionsSchema, rawOptions, 'options', isAbortSignal);
  const from = movable('options.from', options.from);
  const to = movable('options.to', options.to);
  const source = await openSource(from);
  try {
    const log = await assertMovable(source);
    const states = { from: stateFolder(options.fromState, from, log), to: stateFolder(options.toState, to, log) };
    const stateCopy = stateCopyOf(from, states, options.withKey);
    stateCopy?.assertPossible();
    const target = await openTarget(to);
    try {
      const { root } = await verified(source);
      const rows = await copyRows(source, target, options.signal);
      const copy = await verified(target);
      if (copy.root !== root) throw otherRoot(root, copy.root);
      // A signal of the operating system that has come meanwhile is seen in the next turn.
      await nextTurn();
      assertNotCancelled(options.signal);
      stateCopy?.run();
      await commit(target, source.writtenAt);
      return { rows, records: copy.size, root, state: states.to };
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

/** The id of the log. Throws CONFLICT while a node lives: it would go on in the source with what is moved. */
async function assertMovable(source: TransferSource): Promise<string | undefined> {
  try {
    const open = await new SqlNodeRepository().findLive(source.tx);
    const nodes = open.filter(({ expiresAt }) => expiresAt > source.now).map(({ id }) => id);
    if (nodes.length > 0) throw inUse(nodes);
    return await new SqlAuditRepository().logId(source.tx);
  } catch (error) {
    throw source.toKernelError(error);
  }
}

function inUse(nodes: readonly NodeId[]): ProcessError {
  return new ProcessError('CONFLICT', `The store cannot be moved while ${nodes.length} nodes use it.`, {
    facts: { nodes: [...nodes] },
    hint: 'Shut them down first; a node that was killed is taken for live until its lease is over.',
  });
}

/** The audit log of one of the two stores. Throws AUDIT_BROKEN. */
async function verified(store: TransferSource | TransferTarget): Promise<VerifyReport> {
  const reader = { read: <T>(work: (tx: ReadTx) => Promise<T>) => work(store.tx) };
  try {
    const report = await new AuditVerifier(reader, new SqlAuditRepository(), noCheckpointSink).verify();
    if (report.firstBad !== undefined) throw auditBroken(report.firstBad);
    return report;
  } catch (error) {
    throw store.toKernelError(error);
  }
}

async function commit(target: TransferTarget, writtenAt: number): Promise<void> {
  try {
    await target.commit(writtenAt);
  } catch (error) {
    throw target.toKernelError(error);
  }
}

function movable(option: string, store: string): MovableAddress {
  const address = parseStoreAddress(store, option);
  if (address.kind !== 'memory') return address;
  throw notMovable(option);
}

function notMovable(option: string): InputError {
  return invalidInput(option, 'a store in memory is gone with its kernel', 'Name a file or a database on a server.');
}

function stateFolder(stated: string | undefined, address: MovableAddress, log: string | undefined): string | null {
  if (stated !== undefined) return realFile(path.resolve(stated));
  if (address.kind === 'sqlite') return realFile(`${address.path}.state`);
  return log === undefined ? null : realFile(stateFolderOfLog(log));
}

/** Undefined where both stores have the same folder, or one has none. */
function stateCopyOf(
  from: MovableAddress,
  states: { readonly from: string | null; readonly to: string | null },
  withKey: boolean,
): StateCopy | undefined {
  if (states.from === null || states.to === null || states.from === states.to) return undefined;
  const old = from.kind === 'sqlite' ? oldPathsOf(from.path) : undefined;
  // As the next kernel on the source would.
  if (old !== undefined && from.kind === 'sqlite' && Object.values(old).some(existsSync)) {
    prepareStateFolder(states.from, from.path);
  }
  const paths: StatePaths = statePathsOf(states.from);
  return new StateCopy(paths, states.to, withKey);
}

function otherRoot(expected: Hash, found: Hash): StoreError {
  return new StoreError(
    'INTERNAL',
    'The audit log of the copy has another root than that of the store. It was not kept.',
    {
      facts: { expected, found },
      hint: 'This is a defect of the kernel; the store is as it was.',
    },
  );
}
