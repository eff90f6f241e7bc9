import { ContainerModule } from 'inversify';
import { Images } from '../kernel/images.js';
import { Bodies } from './bodies.js';
import { Calls } from './calls.js';
import { Claims } from './claims.js';
import { Executor } from './executor.js';
import { OsProcesses, SystemOsProcesses } from './host-identity.js';
import { ImageRegistry, MemoryImageRegistry } from './image-registry.js';
import { NodeLease } from './node-lease.js';
import { OsGroups, SystemOsGroups } from './os-groups.js';
import { ProgressReports } from './progress-reports.js';
import { Recovery } from './recovery.js';
import { Releases } from './releases.js';
import { Restarts } from './restarts.js';
import { RunEndings } from './run-endings.js';
import { RunJournal } from './run-journal.js';
import { RunTable } from './run-table.js';
import { RunTools } from './run-tools.js';
import { Sleeps } from './sleeps.js';
import { Steps } from './steps.js';
import { SyscallFaces } from './syscalls.js';
import { Timers } from './timers.js';

export const runtimeModule = new ContainerModule(({ bind }) => {
  bind(MemoryImageRegistry).toSelf();
  bind(ImageRegistry).toService(MemoryImageRegistry);
  bind(Images).toService(MemoryImageRegistry);
  bind(OsProcesses).to(SystemOsProcesses);
  bind(OsGroups).to(SystemOsGroups);
  const parts = [
    Bodies,
    Calls,
    Claims,
    Executor,
    NodeLease,
    ProgressReports,
    Recovery,
    Releases,
    Restarts,
    RunEndings,
    RunJournal,
    RunTable,
    RunTools,
    Sleeps,
    Steps,
    SyscallFaces,
    Timers,
  ];
  for (const part of parts) bind<object>(part).toSelf();
});
