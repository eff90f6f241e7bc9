import { randomUUID } from 'node:crypto';
import { ContainerModule, type ServiceIdentifier } from 'inversify';
import { AuditRepository } from '../audit/audit-repository.js';
import { CheckpointSink, noCheckpointSink } from '../audit/checkpoint/checkpoint-sink.js';
import { Ed25519Signer, ed25519SeedBytes } from '../audit/checkpoint/ed25519-signer.js';
import { Signer } from '../audit/checkpoint/signer.js';
import type { StoreAddress } from '../base/address/store-address.js';
import { Clock, type KernelClock } from '../base/clock.js';
import { Entropy } from '../base/entropy.js';
import { Logger } from '../base/logger.js';
import { Store } from '../base/store.js';
import { ApprovalRepository } from '../capability/approval/approval-repository.js';
import { CapabilityRepository } from '../capability/holding/capability-repository.js';
import { RuleRepository } from '../capability/rule/rule-repository.js';
import { EventRepository } from '../events/event-repository.js';
import { AgentMessageRepository } from '../kernel/agent/agent-message-repository.js';
import { AgentTurnRepository } from '../kernel/agent/agent-turn-repository.js';
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
import { QuestionRepository } from '../kernel/question/question-repository.js';
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
import { DatabaseClock } from './postgres/database-clock.js';
import { PostgresStore } from './postgres/postgres-store.js';
import { SqlAgentMessageRepository } from './repository/agent/sql-agent-message-repository.js';
import { SqlAgentTurnRepository } from './repository/agent/sql-agent-turn-repository.js';
import { SqlProcessRepository } from './repository/process/sql-process-repository.js';
import { SqlAccountRepository } from './repository/sql-account-repository.js';
import { SqlApprovalRepository } from './repository/sql-approval-repository.js';
import { SqlAuditRepository } from './repository/sql-audit-repository.js';
import { SqlCapabilityRepository } from './repository/sql-capability-repository.js';
import { SqlClaimRepository } from './repository/sql-claim-repository.js';
import { SqlCommandRepository } from './repository/sql-command-repository.js';
import { SqlEffectRepository } from './repository/sql-effect-repository.js';
import { SqlEventRepository } from './repository/sql-event-repository.js';
import { SqlMessageRepository } from './repository/sql-message-repository.js';
import { SqlNodeRepository } from './repository/sql-node-repository.js';
import { SqlObjectRepository } from './repository/sql-object-repository.js';
import { SqlOrphanRepository } from './repository/sql-orphan-repository.js';
import { SqlProcessLogRepository } from './repository/sql-process-log-repository.js';
import { SqlPruneRepository } from './repository/sql-prune-repository.js';
import { SqlQuestionRepository } from './repository/sql-question-repository.js';
import { SqlReclaimRepository } from './repository/sql-reclaim-repository.js';
import { SqlRuleRepository } from './repository/sql-rule-repository.js';
import { SqlRunEntryRepository } from './repository/sql-run-entry-repository.js';
import { SqlSignalRepository } from './repository/sql-signal-repository.js';
import { SqlSpawnExtrasRepository } from './repository/sql-spawn-extras-repository.js';
import { SqlTokenCounterRepository } from './repository/sql-token-counter-repository.js';
import { SqlViewRepository } from './repository/sql-view-repository.js';
import { SqlWaitRepository } from './repository/sql-wait-repository.js';
import { SqliteStore } from './sqlite/sqlite-store.js';

export interface StorageOptions {
  readonly address: StoreAddress;
  /** The folder of the signing key and the checkpoints; null: both are kept in memory. */
  readonly state: string | null;
  readonly durability: 'full' | 'normal';
  readonly readOnly: boolean;
  readonly pollMs: number;
  /** Whether the clock of the kernel is that of the database server. */
  readonly followsServer: boolean;
}

/** Binds the store of the address with its repositories, and the files of the state folder. */
export function storageModule(options: StorageOptions): ContainerModule {
  const { address, state, readOnly } = options;
  const files = state === null ? undefined : statePathsOf(state);
  return new ContainerModule(({ bind }) => {
    bind(Store).toDynamicValue(({ get }) => createStore(options, get));
    bind(AccountRepository).to(SqlAccountRepository);
    bind(AgentMessageRepository).to(SqlAgentMessageRepository);
    bind(AgentTurnRepository).to(SqlAgentTurnRepository);
    bind(ApprovalRepository).to(SqlApprovalRepository);
    bind(AuditRepository).to(SqlAuditRepository);
    bind(SpawnExtrasRepository).to(SqlSpawnExtrasRepository);
    bind(CapabilityRepository).to(SqlCapabilityRepository);
    bind(CommandRepository).to(SqlCommandRepository);
    bind(EffectRepository).to(SqlEffectRepository);
    bind(RunEntryRepository).to(SqlRunEntryRepository);
    bind(EventRepository).to(SqlEventRepository);
    bind(MessageRepository).to(SqlMessageRepository);
    bind(NodeRepository).to(SqlNodeRepository);
    bind(ObjectRepository).to(SqlObjectRepository);
    bind(ProcessLogRepository).to(SqlProcessLogRepository);
    bind(ProcessRepository).to(SqlProcessRepository);
    bind(ClaimRepository).to(SqlClaimRepository);
    bind(OrphanRepository).to(SqlOrphanRepository);
    bind(PruneRepository).to(SqlPruneRepository);
    bind(QuestionRepository).to(SqlQuestionRepository);
    bind(ReclaimRepository).to(SqlReclaimRepository);
    bind(RuleRepository).to(SqlRuleRepository);
    bind(SignalRepository).to(SqlSignalRepository);
    bind(TokenCounterRepository).to(SqlTokenCounterRepository);
    bind(ViewRepository).to(SqlViewRepository);
    bind(WaitRepository).to(SqlWaitRepository);
    bind(CheckpointSink).toConstantValue(
      files === undefined || address.kind === 'memory'
        ? noCheckpointSink
        : new CheckpointFile(
            files.checkpoints,
            readOnly && address.kind === 'sqlite' ? oldPathsOf(address.path).checkpoints : undefined,
          ),
    );
    bind(Signer).toDynamicValue(({ get }) => {
      const entropy = get<Entropy>(Entropy);
      if (files !== undefined) return new KeyFileSigner(files.key, entropy);
      return Ed25519Signer.fromSeed(Buffer.from(entropy.bytes(ed25519SeedBytes)));
    });
  });
}

function createStore(options: StorageOptions, get: <T>(token: ServiceIdentifier<T>) => T): Store {
  const { address, followsServer } = options;
  const logger = get<Logger>(Logger);
  if (address.kind !== 'postgres') {
    return new SqliteStore({ ...options, path: address.kind === 'memory' ? ':memory:' : address.path }, logger);
  }
  return new PostgresStore(
    {
      ...options,
      address,
      writer: randomUUID(),
      clock: get<KernelClock>(Clock),
      databaseClock: followsServer ? get(DatabaseClock) : undefined,
    },
    logger,
  );
}
