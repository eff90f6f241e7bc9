import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
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
import { SqliteAuditRepository } from '../../../src/storage/repository/sqlite-audit-repository.js';
import { SqliteStore } from '../../../src/storage/sqlite/sqlite-store.js';

const noLineages = { lineage: () => Promise.reject(new Error('there are no processes here')) };
const noAuthorities = { trace: () => Promise.reject(new Error('there are no capabilities here')) };
const noProvenances = { provenance: () => Promise.reject(new Error('there are no objects here')) };

export interface AuditFixtureOptions {
  readonly path: string;
  readonly seed?: string;
  readonly readOnly?: boolean;
  readonly signer?: Signer;
  readonly sink?: CheckpointSink;
}

export type AuditFixture = Awaited<ReturnType<typeof openAudit>>;

/** A folder of its own, removed after the test. */
export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'procura-audit-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function tempDatabase(): string {
  return join(tempFolder(), 'log.db');
}

/** The audit layer on a real store, wired by hand, closed after the test. */
export async function openAudit(options: AuditFixtureOptions) {
  const { path, readOnly = false } = options;
  const store = new SqliteStore({ path, durability: 'normal', readOnly, pollMs: 250 });
  await store.open();
  const inMemory = path === ':memory:';
  const clock = new KernelClock(seededClock());
  const entropy = new SeededEntropy(options.seed ?? 'audit');
  const ids = new TimeOrderedIds(clock, entropy);
  const node = { nodeId: 'n_test', operator: 'tester' };
  const logged: { facts: JsonObject; message: string }[] = [];
  const record = (facts: JsonObject, message: string) => void logged.push({ facts, message });
  const logger: Logger = { warn: record, error: record };
  const signer =
    options.signer ??
    (inMemory ? Ed25519Signer.fromSeed(entropy.bytes(32)) : new KeyFileSigner(`${path}.key`, entropy));
  const sink = options.sink ?? (inMemory ? noCheckpointSink : new CheckpointFile(`${path}.checkpoints`));
  const repository = new SqliteAuditRepository();
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
  const path = tempDatabase();
  const audit = await openAudit({ path, seed });
  await fill(audit, signed);
  if (signed > 0) await audit.log.checkpoint();
  await fill(audit, count - signed);
  await audit.store.close();
  return path;
}
