import { ContainerModule } from 'inversify';
import { AuditRepository } from '../../../src/audit/audit-repository.js';
import { StoreError } from '../../../src/base/errors.js';
import type { Token } from '../../../src/base/token.js';
import { CapabilityRepository } from '../../../src/capability/holding/capability-repository.js';
import { EventRepository } from '../../../src/events/event-repository.js';
import { AccountRepository } from '../../../src/kernel/budget/account-repository.js';
import { SpawnExtrasRepository } from '../../../src/kernel/lifecycle/spawn-extras-repository.js';
import { MessageRepository } from '../../../src/kernel/message/message-repository.js';
import { ProcessRepository } from '../../../src/kernel/process/process-repository.js';
import { RunEntryRepository } from '../../../src/kernel/process/run-entry-repository.js';
import { SignalRepository } from '../../../src/kernel/signal/signal-repository.js';
import { WaitRepository } from '../../../src/kernel/waiting/wait-repository.js';
import { ObjectRepository } from '../../../src/memory/object/object-repository.js';
import { SqlProcessRepository } from '../../../src/storage/repository/process/sql-process-repository.js';
import { SqlAccountRepository } from '../../../src/storage/repository/sql-account-repository.js';
import { SqlAuditRepository } from '../../../src/storage/repository/sql-audit-repository.js';
import { SqlCapabilityRepository } from '../../../src/storage/repository/sql-capability-repository.js';
import { SqlEventRepository } from '../../../src/storage/repository/sql-event-repository.js';
import { SqlMessageRepository } from '../../../src/storage/repository/sql-message-repository.js';
import { SqlObjectRepository } from '../../../src/storage/repository/sql-object-repository.js';
import { SqlRunEntryRepository } from '../../../src/storage/repository/sql-run-entry-repository.js';
import { SqlSignalRepository } from '../../../src/storage/repository/sql-signal-repository.js';
import { SqlSpawnExtrasRepository } from '../../../src/storage/repository/sql-spawn-extras-repository.js';
import { SqlWaitRepository } from '../../../src/storage/repository/sql-wait-repository.js';

/** Counts the calls of all repositories and makes one of them fail, before or after it has done its work. */
export class FailingRepositories {
  calls = 0;
  failed: string | undefined;
  private failAt = Number.POSITIVE_INFINITY;
  private when: 'before' | 'after' = 'before';
  private only: unknown;

  /** Makes the `nth` call from now on fail; with `only`, the `nth` call of that repository. */
  arm(nth: number, when: 'before' | 'after', only?: Token<object>): void {
    this.only = only;
    this.failAt = this.calls + nth;
    this.when = when;
    this.failed = undefined;
  }

  disarm(): void {
    this.failAt = Number.POSITIVE_INFINITY;
  }

  /** Binds every repository, wrapped so that its calls are counted. */
  module(): ContainerModule {
    return new ContainerModule(({ bind }) => {
      const bindFailing = <T extends object>(token: Token<T>, repository: T) => {
        bind<T>(token).toConstantValue(this.wrap(token, repository));
      };
      bindFailing(AccountRepository, new SqlAccountRepository());
      bindFailing(AuditRepository, new SqlAuditRepository());
      bindFailing(SpawnExtrasRepository, new SqlSpawnExtrasRepository());
      bindFailing(CapabilityRepository, new SqlCapabilityRepository());
      bindFailing(RunEntryRepository, new SqlRunEntryRepository());
      bindFailing(EventRepository, new SqlEventRepository());
      bindFailing(MessageRepository, new SqlMessageRepository());
      bindFailing(ObjectRepository, new SqlObjectRepository());
      bindFailing(ProcessRepository, new SqlProcessRepository());
      bindFailing(SignalRepository, new SqlSignalRepository());
      bindFailing(WaitRepository, new SqlWaitRepository());
    });
  }

  private wrap<T extends object>(token: Token<T>, repository: T): T {
    return new Proxy(repository, {
      get: (target, name, receiver) => {
        const member: unknown = Reflect.get(target, name, receiver);
        if (typeof member !== 'function') return member;
        return async (...args: unknown[]) => {
          const counts = this.only === undefined || this.only === token;
          const failsNow = counts && ++this.calls === this.failAt;
          if (failsNow && this.when === 'before') throw this.fail(String(name));
          const result: unknown = await Reflect.apply(member, target, args);
          if (failsNow) throw this.fail(String(name));
          return result;
        };
      },
    });
  }

  private fail(name: string): StoreError {
    this.failed = name;
    return new StoreError('STORE_IO', `The call of ${name} was made to fail.`, { hint: 'Try again.', retryable: true });
  }
}
