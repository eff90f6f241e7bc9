import { ContainerModule } from 'inversify';
import { AuditRepository } from '../audit/audit-repository.js';
import { CheckpointSink, noCheckpointSink } from '../audit/checkpoint-sink.js';
import { Ed25519Signer, ed25519SeedBytes } from '../audit/ed25519-signer.js';
import { Signer } from '../audit/signer.js';
import { Entropy } from '../base/entropy.js';
import { Store } from '../base/store.js';
import { ApprovalRepository } from '../capability/approval-repository.js';
import { CapabilityRepository } from '../capability/capability-repository.js';
import { RuleRepository } from '../capability/rule-repository.js';
import { EventRepository } from '../events/event-repository.js';
import { AccountRepository } from '../kernel/account-repository.js';
import { BirthRepository } from '../kernel/birth-repository.js';
import { CommandRepository } from '../kernel/command-repository.js';
import { EffectRepository } from '../kernel/effect-repository.js';
import { EntryRepository } from '../kernel/entry-repository.js';
import { MessageRepository } from '../kernel/message-repository.js';
import { NodeRepository } from '../kernel/node-repository.js';
import { ProcessRepository } from '../kernel/process-repository.js';
import { SignalRepository } from '../kernel/signal-repository.js';
import { WaitRepository } from '../kernel/wait-repository.js';
import { ObjectRepository } from '../memory/object-repository.js';
import { ReclaimRepository } from '../memory/reclaim-repository.js';
import { ViewRepository } from '../memory/view-repository.js';
import { CheckpointFile } from './files/checkpoint-file.js';
import { KeyFileSigner } from './files/key-file.js';
import { SqliteAccountRepository } from './sqlite/sqlite-account-repository.js';
import { SqliteApprovalRepository } from './sqlite/sqlite-approval-repository.js';
import { SqliteAuditRepository } from './sqlite/sqlite-audit-repository.js';
import { SqliteBirthRepository } from './sqlite/sqlite-birth-repository.js';
import { SqliteCapabilityRepository } from './sqlite/sqlite-capability-repository.js';
import { SqliteCommandRepository } from './sqlite/sqlite-command-repository.js';
import { SqliteEffectRepository } from './sqlite/sqlite-effect-repository.js';
import { SqliteEntryRepository } from './sqlite/sqlite-entry-repository.js';
import { SqliteEventRepository } from './sqlite/sqlite-event-repository.js';
import { SqliteMessageRepository } from './sqlite/sqlite-message-repository.js';
import { SqliteNodeRepository } from './sqlite/sqlite-node-repository.js';
import { SqliteObjectRepository } from './sqlite/sqlite-object-repository.js';
import { SqliteProcessRepository } from './sqlite/sqlite-process-repository.js';
import { SqliteReclaimRepository } from './sqlite/sqlite-reclaim-repository.js';
import { SqliteRuleRepository } from './sqlite/sqlite-rule-repository.js';
import { SqliteSignalRepository } from './sqlite/sqlite-signal-repository.js';
import { type SqliteOptions, SqliteStore } from './sqlite/sqlite-store.js';
import { SqliteViewRepository } from './sqlite/sqlite-view-repository.js';
import { SqliteWaitRepository } from './sqlite/sqlite-wait-repository.js';

/** The SQLite store with its repositories; the signing key and the checkpoints lie beside the database file. */
export function sqliteModule(options: SqliteOptions): ContainerModule {
  return new ContainerModule(({ bind }) => {
    bind(Store).toDynamicValue(() => new SqliteStore(options));
    bind(AccountRepository).to(SqliteAccountRepository);
    bind(ApprovalRepository).to(SqliteApprovalRepository);
    bind(AuditRepository).to(SqliteAuditRepository);
    bind(BirthRepository).to(SqliteBirthRepository);
    bind(CapabilityRepository).to(SqliteCapabilityRepository);
    bind(CommandRepository).to(SqliteCommandRepository);
    bind(EffectRepository).to(SqliteEffectRepository);
    bind(EntryRepository).to(SqliteEntryRepository);
    bind(EventRepository).to(SqliteEventRepository);
    bind(MessageRepository).to(SqliteMessageRepository);
    bind(NodeRepository).to(SqliteNodeRepository);
    bind(ObjectRepository).to(SqliteObjectRepository);
    bind(ProcessRepository).to(SqliteProcessRepository);
    bind(ReclaimRepository).to(SqliteReclaimRepository);
    bind(RuleRepository).to(SqliteRuleRepository);
    bind(SignalRepository).to(SqliteSignalRepository);
    bind(ViewRepository).to(SqliteViewRepository);
    bind(WaitRepository).to(SqliteWaitRepository);
    bind(CheckpointSink).toConstantValue(
      options.path === ':memory:' ? noCheckpointSink : new CheckpointFile(`${options.path}.checkpoints`),
    );
    bind(Signer).toDynamicValue(({ get }) => {
      const entropy = get<Entropy>(Entropy);
      if (options.path !== ':memory:') return new KeyFileSigner(`${options.path}.key`, entropy);
      return Ed25519Signer.fromSeed(entropy.bytes(ed25519SeedBytes));
    });
  });
}
