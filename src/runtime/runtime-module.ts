import { ContainerModule } from 'inversify';
import { Images } from '../kernel/process/images.js';
import { ImageRegistry, MemoryImageRegistry } from './image/image-registry.js';
import { Claims } from './node/claims.js';
import { Executor } from './node/executor.js';
import { NodeLease } from './node/node-lease.js';
import { NodeWatch } from './node/node-watch.js';
import { Recovery } from './node/recovery.js';
import { Releases } from './node/releases.js';
import { OsGroups, SystemOsGroups } from './os/os-groups.js';
import { OsProcesses, SystemOsProcesses } from './os/os-processes.js';
import { BodyCalls } from './run/body-calls.js';
import { BodyContexts } from './run/body-context.js';
import { BodyRunner } from './run/body-runner.js';
import { ProgressReports } from './run/progress-reports.js';
import { ReplayJournal } from './run/replay-journal.js';
import { RunOutcomes } from './run/run-outcomes.js';
import { RunTable } from './run/run-table.js';
import { RunTools } from './run/run-tools.js';
import { Sleeps } from './run/sleeps.js';
import { Steps } from './step/steps.js';
import { Supervisors } from './supervision/supervisor.js';

export const runtimeModule = new ContainerModule(({ bind }) => {
  bind(MemoryImageRegistry).toSelf();
  bind(ImageRegistry).toService(MemoryImageRegistry);
  bind(Images).toService(MemoryImageRegistry);
  bind(OsProcesses).to(SystemOsProcesses);
  bind(OsGroups).to(SystemOsGroups);
  const parts = [
    BodyRunner,
    BodyCalls,
    Claims,
    Executor,
    NodeLease,
    ProgressReports,
    NodeWatch,
    Recovery,
    Releases,
    RunOutcomes,
    ReplayJournal,
    RunTable,
    RunTools,
    Supervisors,
    Sleeps,
    Steps,
    BodyContexts,
  ];
  for (const part of parts) bind<object>(part).toSelf();
});
