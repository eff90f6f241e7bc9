import { ContainerModule } from 'inversify';
import { Images } from '../kernel/process/images.js';
import { ImageRegistry, MemoryImageRegistry } from './image/image-registry.js';
import { Claims } from './node/claims.js';
import { Executor } from './node/executor.js';
import { NodeLease } from './node/node-lease.js';
import { Recovery } from './node/recovery.js';
import { Releases } from './node/releases.js';
import { OsProcesses, SystemOsProcesses } from './os/host-identity.js';
import { OsGroups, SystemOsGroups } from './os/os-groups.js';
import { BodyContexts } from './run/body-context.js';
import { BodyRunner } from './run/body-runner.js';
import { Calls } from './run/calls.js';
import { ProgressReports } from './run/progress-reports.js';
import { ReplayJournal } from './run/replay-journal.js';
import { RunEndings } from './run/run-endings.js';
import { RunTable } from './run/run-table.js';
import { RunTools } from './run/run-tools.js';
import { Sleeps } from './run/sleeps.js';
import { Timers } from './run/timers.js';
import { Steps } from './step/steps.js';
import { Restarts } from './supervision/restarts.js';

export const runtimeModule = new ContainerModule(({ bind }) => {
  bind(MemoryImageRegistry).toSelf();
  bind(ImageRegistry).toService(MemoryImageRegistry);
  bind(Images).toService(MemoryImageRegistry);
  bind(OsProcesses).to(SystemOsProcesses);
  bind(OsGroups).to(SystemOsGroups);
  const parts = [
    BodyRunner,
    Calls,
    Claims,
    Executor,
    NodeLease,
    ProgressReports,
    Recovery,
    Releases,
    Restarts,
    RunEndings,
    ReplayJournal,
    RunTable,
    RunTools,
    Sleeps,
    Steps,
    BodyContexts,
    Timers,
  ];
  for (const part of parts) bind<object>(part).toSelf();
});
