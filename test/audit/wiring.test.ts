import 'reflect-metadata';
import { Container } from 'inversify';
import { expect, it } from 'vitest';
import { AuditLog } from '../../src/audit/audit-log.js';
import { AuditRepository } from '../../src/audit/audit-repository.js';
import type { Checkpoint } from '../../src/audit/checkpoint/checkpoint.js';
import { CheckpointSink, noCheckpointSink } from '../../src/audit/checkpoint/checkpoint-sink.js';
import { CheckpointAnnouncer, Checkpoints } from '../../src/audit/checkpoint/checkpoints.js';
import { Ed25519Signer } from '../../src/audit/checkpoint/ed25519-signer.js';
import { Signer } from '../../src/audit/checkpoint/signer.js';
import { AuditProofs } from '../../src/audit/merkle/audit-proofs.js';
import { AuthorityQuery } from '../../src/audit/query/authority-trace.js';
import { LineageQuery } from '../../src/audit/query/lineage.js';
import { ProvenanceQuery } from '../../src/audit/query/provenance.js';
import { AuditVerifier } from '../../src/audit/verify/audit-verifier.js';
import { AuditWriter } from '../../src/audit/writing/audit-writer.js';
import { Refusals } from '../../src/audit/writing/refusals.js';
import { Clock, KernelClock, seededClock } from '../../src/base/clock.js';
import { Entropy, SeededEntropy } from '../../src/base/entropy.js';
import { IdSource, TimeOrderedIds } from '../../src/base/ids.js';
import { Logger, silentLogger } from '../../src/base/logger.js';
import { NodeIdentity } from '../../src/base/node-identity.js';
import { Store } from '../../src/base/store.js';
import { SqlAuditRepository } from '../../src/storage/repository/sql-audit-repository.js';
import { SqliteStore } from '../../src/storage/sqlite/sqlite-store.js';
import { entry } from '../support/audit/audit-fixture.js';
import { runsUnitsOnce } from '../support/store-modes.js';

it.skipIf(!runsUnitsOnce)(
  'the audit layer is built by a container, with or without a checkpoint announcer',
  async () => {
    const announced: Checkpoint[] = [];
    const container = await auditContainer();
    expect(await signOne(container)).toMatchObject({ size: 1 });
    const withAnnouncer = await auditContainer();
    const announcer: CheckpointAnnouncer = { announce: (_tx, checkpoint) => void announced.push(checkpoint) };
    withAnnouncer.bind(CheckpointAnnouncer).toConstantValue(announcer);
    const checkpoint = await signOne(withAnnouncer);
    expect(announced).toEqual([checkpoint]);
  },
);

async function signOne(container: Container): Promise<Checkpoint> {
  await container.get(Refusals).record(entry(1, { outcome: 'refused' }));
  const checkpoint = await container.get(AuditLog).checkpoint();
  await container.get<Store>(Store).close();
  return checkpoint;
}

async function auditContainer(): Promise<Container> {
  const container = new Container({ defaultScope: 'Singleton' });
  const store = new SqliteStore({ path: ':memory:', durability: 'full', readOnly: false, pollMs: 250 });
  await store.open();
  const clock = new KernelClock(seededClock());
  const entropy = new SeededEntropy('wiring');
  container.bind(Store).toConstantValue(store);
  container.bind(Clock).toConstantValue(clock);
  container.bind(Entropy).toConstantValue(entropy);
  container.bind(IdSource).toConstantValue(new TimeOrderedIds(clock, entropy));
  container.bind(Logger).toConstantValue(silentLogger);
  container.bind(NodeIdentity).toConstantValue({ nodeId: 'n_1', operator: 'tester' });
  container.bind(Signer).toConstantValue(Ed25519Signer.fromSeed(entropy.bytes(32)));
  container.bind(CheckpointSink).toConstantValue(noCheckpointSink);
  const lineages: LineageQuery = { lineage: () => Promise.reject(new Error('there are no processes here')) };
  container.bind(LineageQuery).toConstantValue(lineages);
  const authorities: AuthorityQuery = { trace: () => Promise.reject(new Error('there are no capabilities here')) };
  container.bind(AuthorityQuery).toConstantValue(authorities);
  const provenances: ProvenanceQuery = { provenance: () => Promise.reject(new Error('there are no objects here')) };
  container.bind(ProvenanceQuery).toConstantValue(provenances);
  container.bind(AuditRepository).to(SqlAuditRepository);
  container.bind(AuditWriter).toSelf();
  container.bind(AuditVerifier).toSelf();
  container.bind(AuditProofs).toSelf();
  container.bind(Checkpoints).toSelf();
  container.bind(Refusals).toSelf();
  container.bind(AuditLog).toSelf();
  return container;
}
