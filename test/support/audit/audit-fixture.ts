import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { AuditEntry } from '../../../src/audit/audit-entry.js';
import { AuditLog } from '../../../src/audit/audit-log.js';
import { type CheckpointSink, noCheckpointSink } from '../../../src/audit/checkpoint/checkpoint-sink.js';
import { Checkpoints } from '../../../src/audit/checkpoint/checkpoints.js';
import { Ed25519Signer } from '../../../src/audit/checkpoint/ed25519-signer.js';
import type { Signer } from '../../../src/audit/checkpoint/signer.js';
import { AuditProofs } from '../../../src/audit/merkle/audit-proofs.js';
import { AuditVerifier } from '../../../src/audit/verify/audit-verifier.js';
import { AuditWriter } from '../../../src/audit/writing/audit-writer.js';
import { Refusals } from '../../../src/audit/writing/refusals.js';
import { KernelClock, seededClock } from '../../../src/base/clock.js';
import { SeededEntropy } from '../../../src/base/entropy.js';
import { TimeOrderedIds } from '../../../src/base/ids.js';
import type { JsonObject } from '../../../src/base/json.js';
import type { Logger } from '../../../src/base/logger.js';
import { CheckpointFile } from '../../../src/storage/files/checkpoint-file.js';
import { KeyFileSigner } from '../../../src/storage/files/key-file.js';
import { SqlAuditRepository } from '../../../src/storage/repository/sql-audit-repository.js';
import { newStore, tempFolder } from '../kernel.js';
import { isPostgres } from '../storage/postgres-raw-connection.js';
import { storeAt } from '../storage/store-at.js';
import { isSqlite } from '../store-kind.js';

const noLineages = { lineage: () => Promise.reject(new Error('there are no processes here')) };
const noAuthorities = { trace: () => Promise.reject(new Error('there are no capabilities here')) };
const noProvenances = { provenance: () => Promise.reject(new Error('there are no objects here')) };

export interface AuditFixtureOptions {
  /** The address of a store; without it a new one, whose key and checkpoints are in memory. */
  readonly path?: string;
  readonly seed?: string;
  readonly readOnly?: boolean;
  readonly signer?: Signer;
  readonly sink?: CheckpointSink;
}

export type AuditFixture = Awaited<ReturnType<typeof openAudit>>;

export interface AuditFiles {
  readonly key: string;
  readonly checkpoints: string;
}

const folders = new Map<string, string>();

/** The files of the log of a store: for SQLite beside the database, for PostgreSQL in a folder that is kept for the test. */
export function auditFilesOf(store: string): AuditFiles {
  const prefix = isPostgres(store) ? join(folderOf(store), 'log') : store;
  return { key: `${prefix}.key`, checkpoints: `${prefix}.checkpoints` };
}

function folderOf(store: string): string {
  const folder = folders.get(store) ?? tempFolder();
  if (!folders.has(store)) onTestFinished(() => void folders.delete(store));
  folders.set(store, folder);
  return folder;
}

/** The audit layer on a real store, wired by hand, closed after the test. */
export async function openAudit(options: AuditFixtureOptions = {}) {
  const { path = isSqlite ? ':memory:' : await newStore(), readOnly = false } = options;
  const clock = new KernelClock(seededClock());
  const store = storeAt(path, { readOnly, clock });
  await store.open();
  const files = options.path === undefined ? undefined : auditFilesOf(path);
  const entropy = new SeededEntropy(options.seed ?? 'audit');
  const ids = new TimeOrderedIds(clock, entropy);
  const node = { nodeId: 'n_test', operator: 'tester' };
  const logged: { facts: JsonObject; message: string }[] = [];
  const record = (facts: JsonObject, message: string) => void logged.push({ facts, message });
  const logger: Logger = { warn: record, error: record };
  const signer =
    options.signer ??
    (files === undefined ? Ed25519Signer.fromSeed(entropy.bytes(32)) : new KeyFileSigner(files.key, entropy));
  const sink = options.sink ?? (files === undefined ? noCheckpointSink : new CheckpointFile(files.checkpoints));
  const repository = new SqlAuditRepository();
  const writer = new AuditWriter(repository, ids, entropy, node);
  const verifier = new AuditVerifier(store, repository, sink);
  const checkpoints = new Checkpoints(store, repository, writer, signer, sink, clock, logger);
  const proofs = new AuditProofs(store, repository);
  const log = new AuditLog(
    store,
    repository,
    writer,
    verifier,
    proofs,
    checkpoints,
    clock,
    node,
    noLineages,
    noAuthorities,
    noProvenances,
  );
  const refusals = new Refusals(store, writer, clock, node, logger);
  onTestFinished(() => store.close());
  return { store, repository, writer, verifier, checkpoints, log, refusals, clock, signer, logged };
}

/** A record as a syscall would write it; the n-th differs from the others. */
export function entry(n: number, more: Partial<AuditEntry> = {}): AuditEntry {
  return {
    actor: `p_${n % 7}`,
    via: 'process',
    action: 'process.spawn',
    outcome: 'ok',
    at: 1_700_000_000_000 + n,
    target: `p_child_${n}`,
    ...more,
  };
}

/** Appends `count` records in units of 100; every third one has a payload. */
export async function fill(audit: Pick<AuditFixture, 'store' | 'writer'>, count: number): Promise<void> {
  for (let from = 0; from < count; from += 100) {
    await audit.store.write(async (tx) => {
      for (let n = from; n < Math.min(count, from + 100); n++) {
        audit.writer.append(tx, entry(n, n % 3 === 0 ? { resource: `tool:t${n}`, payload: { n } } : {}));
      }
    });
  }
}

/** A closed database with `count` records, of which the first `signed` are covered by a checkpoint. */
export async function closedLog(count: number, signed = count, seed = 'audit'): Promise<string> {
  const path = await newStore();
  const audit = await openAudit({ path, seed });
  await fill(audit, signed);
  if (signed > 0) await audit.log.checkpoint();
  await fill(audit, count - signed);
  await audit.store.close();
  return path;
}
