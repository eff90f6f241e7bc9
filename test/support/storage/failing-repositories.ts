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
import { SqliteAccountRepository } from '../../../src/storage/repository/sqlite-account-repository.js';
import { SqliteAuditRepository } from '../../../src/storage/repository/sqlite-audit-repository.js';
import { SqliteCapabilityRepository } from '../../../src/storage/repository/sqlite-capability-repository.js';
import { SqliteEventRepository } from '../../../src/storage/repository/sqlite-event-repository.js';
import { SqliteMessageRepository } from '../../../src/storage/repository/sqlite-message-repository.js';
import { SqliteObjectRepository } from '../../../src/storage/repository/sqlite-object-repository.js';
import { SqliteProcessRepository } from '../../../src/storage/repository/sqlite-process-repository.js';
import { SqliteRunEntryRepository } from '../../../src/storage/repository/sqlite-run-entry-repository.js';
import { SqliteSignalRepository } from '../../../src/storage/repository/sqlite-signal-repository.js';
import { SqliteSpawnExtrasRepository } from '../../../src/storage/repository/sqlite-spawn-extras-repository.js';
import { SqliteWaitRepository } from '../../../src/storage/repository/sqlite-wait-repository.js';

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
      bindFailing(AccountRepository, new SqliteAccountRepository());
      bindFailing(AuditRepository, new SqliteAuditRepository());
      bindFailing(SpawnExtrasRepository, new SqliteSpawnExtrasRepository());
      bindFailing(CapabilityRepository, new SqliteCapabilityRepository());
      bindFailing(RunEntryRepository, new SqliteRunEntryRepository());
      bindFailing(EventRepository, new SqliteEventRepository());
      bindFailing(MessageRepository, new SqliteMessageRepository());
      bindFailing(ObjectRepository, new SqliteObjectRepository());
      bindFailing(ProcessRepository, new SqliteProcessRepository());
      bindFailing(SignalRepository, new SqliteSignalRepository());
      bindFailing(WaitRepository, new SqliteWaitRepository());
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
