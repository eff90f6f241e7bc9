import { ContainerModule } from 'inversify';
import { AuditRepository } from '../audit/audit-repository.js';
import { CheckpointSink, noCheckpointSink } from '../audit/checkpoint/checkpoint-sink.js';
import { Ed25519Signer, ed25519SeedBytes } from '../audit/checkpoint/ed25519-signer.js';
import { Signer } from '../audit/checkpoint/signer.js';
import { Entropy } from '../base/entropy.js';
import { Logger } from '../base/logger.js';
import { Store } from '../base/store.js';
import { ApprovalRepository } from '../capability/approval/approval-repository.js';
import { CapabilityRepository } from '../capability/holding/capability-repository.js';
import { RuleRepository } from '../capability/rule/rule-repository.js';
import { EventRepository } from '../events/event-repository.js';
import { AccountRepository } from '../kernel/budget/account-repository.js';
import { CommandRepository } from '../kernel/command/command-repository.js';
import { EffectRepository } from '../kernel/effect/effect-repository.js';
import { SpawnExtrasRepository } from '../kernel/lifecycle/spawn-extras-repository.js';
import { MessageRepository } from '../kernel/message/message-repository.js';
import { NodeRepository } from '../kernel/node/node-repository.js';
import { ClaimRepository } from '../kernel/process/claim-repository.js';
import { ProcessLogRepository } from '../kernel/process/process-log-repository.js';
import { ProcessRepository } from '../kernel/process/process-repository.js';
import { PruneRepository } from '../kernel/process/prune-repository.js';
import { RunEntryRepository } from '../kernel/process/run-entry-repository.js';
import { SignalRepository } from '../kernel/signal/signal-repository.js';
import { WaitRepository } from '../kernel/waiting/wait-repository.js';
import { ObjectRepository } from '../memory/object/object-repository.js';
import { OrphanRepository } from '../memory/object/orphan-repository.js';
import { ReclaimRepository } from '../memory/object/reclaim-repository.js';
import { TokenCounterRepository } from '../memory/tokens/token-counter-repository.js';
import { ViewRepository } from '../memory/view/view-repository.js';
import { CheckpointFile } from './files/checkpoint-file.js';
import { KeyFileSigner } from './files/key-file.js';
import { oldPathsOf, statePathsOf } from './files/state-folder.js';
import { SqliteAccountRepository } from './repository/sqlite-account-repository.js';
import { SqliteApprovalRepository } from './repository/sqlite-approval-repository.js';
import { SqliteAuditRepository } from './repository/sqlite-audit-repository.js';
import { SqliteCapabilityRepository } from './repository/sqlite-capability-repository.js';
import { SqliteClaimRepository } from './repository/sqlite-claim-repository.js';
import { SqliteCommandRepository } from './repository/sqlite-command-repository.js';
import { SqliteEffectRepository } from './repository/sqlite-effect-repository.js';
import { SqliteEventRepository } from './repository/sqlite-event-repository.js';
import { SqliteMessageRepository } from './repository/sqlite-message-repository.js';
import { SqliteNodeRepository } from './repository/sqlite-node-repository.js';
import { SqliteObjectRepository } from './repository/sqlite-object-repository.js';
import { SqliteOrphanRepository } from './repository/sqlite-orphan-repository.js';
import { SqliteProcessLogRepository } from './repository/sqlite-process-log-repository.js';
import { SqliteProcessRepository } from './repository/sqlite-process-repository.js';
import { SqlitePruneRepository } from './repository/sqlite-prune-repository.js';
import { SqliteReclaimRepository } from './repository/sqlite-reclaim-repository.js';
import { SqliteRuleRepository } from './repository/sqlite-rule-repository.js';
import { SqliteRunEntryRepository } from './repository/sqlite-run-entry-repository.js';
import { SqliteSignalRepository } from './repository/sqlite-signal-repository.js';
import { SqliteSpawnExtrasRepository } from './repository/sqlite-spawn-extras-repository.js';
import { SqliteTokenCounterRepository } from './repository/sqlite-token-counter-repository.js';
import { SqliteViewRepository } from './repository/sqlite-view-repository.js';
import { SqliteWaitRepository } from './repository/sqlite-wait-repository.js';
import { type SqliteOptions, SqliteStore } from './sqlite/sqlite-store.js';

export interface StorageOptions extends SqliteOptions {
  /** The folder of the signing key and the checkpoints; null: both are kept in memory. */
  readonly state: string | null;
}

/** Binds the SQLite store and its repositories, and the files of the state folder. */
export function sqliteModule(options: StorageOptions): ContainerModule {
  const { path, state, readOnly } = options;
  const files = state === null ? undefined : statePathsOf(state);
  return new ContainerModule(({ bind }) => {
    bind(Store).toDynamicValue(({ get }) => new SqliteStore(options, get<Logger>(Logger)));
    bind(AccountRepository).to(SqliteAccountRepository);
    bind(ApprovalRepository).to(SqliteApprovalRepository);
    bind(AuditRepository).to(SqliteAuditRepository);
    bind(SpawnExtrasRepository).to(SqliteSpawnExtrasRepository);
    bind(CapabilityRepository).to(SqliteCapabilityRepository);
    bind(CommandRepository).to(SqliteCommandRepository);
    bind(EffectRepository).to(SqliteEffectRepository);
    bind(RunEntryRepository).to(SqliteRunEntryRepository);
    bind(EventRepository).to(SqliteEventRepository);
    bind(MessageRepository).to(SqliteMessageRepository);
    bind(NodeRepository).to(SqliteNodeRepository);
    bind(ObjectRepository).to(SqliteObjectRepository);
    bind(ProcessLogRepository).to(SqliteProcessLogRepository);
    bind(ProcessRepository).to(SqliteProcessRepository);
    bind(ClaimRepository).to(SqliteClaimRepository);
    bind(OrphanRepository).to(SqliteOrphanRepository);
    bind(PruneRepository).to(SqlitePruneRepository);
    bind(ReclaimRepository).to(SqliteReclaimRepository);
    bind(RuleRepository).to(SqliteRuleRepository);
    bind(SignalRepository).to(SqliteSignalRepository);
    bind(TokenCounterRepository).to(SqliteTokenCounterRepository);
    bind(ViewRepository).to(SqliteViewRepository);
    bind(WaitRepository).to(SqliteWaitRepository);
    bind(CheckpointSink).toConstantValue(
      files === undefined || path === ':memory:'
        ? noCheckpointSink
        : new CheckpointFile(files.checkpoints, readOnly ? oldPathsOf(path).checkpoints : undefined),
    );
    bind(Signer).toDynamicValue(({ get }) => {
      const entropy = get<Entropy>(Entropy);
      if (files !== undefined) return new KeyFileSigner(files.key, entropy);
      return Ed25519Signer.fromSeed(Buffer.from(entropy.bytes(ed25519SeedBytes)));
    });
  });
}
