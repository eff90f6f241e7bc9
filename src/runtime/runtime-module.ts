import { ContainerModule } from 'inversify';
import { LiveNodes } from '../kernel/node/live-nodes.js';
import { Images } from '../kernel/process/images.js';
import { AgentService, HostAgentService } from './agent/agent-service.js';
import { AgentStreams } from './agent/agent-stream.js';
import { BodyTurns } from './agent/body-turns.js';
import { LiveTurns } from './agent/live-turns.js';
import { Say } from './agent/say.js';
import { ImageRegistry, MemoryImageRegistry } from './image/image-registry.js';
import { Claims } from './node/claims.js';
import { DueWork } from './node/due-work.js';
import { Executor } from './node/executor.js';
import { LiveOffers } from './node/live-offers.js';
import { NodeLease } from './node/node-lease.js';
import { NodeOffering } from './node/node-offering.js';
import { NodeWatch } from './node/node-watch.js';
import { OfferUpdates } from './node/offer-updates.js';
import { Recovery } from './node/recovery.js';
import { Releases } from './node/releases.js';
import { StrayStarts } from './node/stray-starts.js';
import { UnplacedProcesses } from './node/unplaced-processes.js';
import { OsGroups, SystemOsGroups } from './os/os-groups.js';
import { OsProcesses, SystemOsProcesses } from './os/os-processes.js';
import { OsPrograms, SystemOsPrograms } from './os/os-programs.js';
import { BodyCalls } from './run/body-calls.js';
import { BodyContexts } from './run/body-context.js';
import { BodyLogs } from './run/body-logs.js';
import { BodyRunner } from './run/body-runner.js';
import { CommittedAnswers } from './run/committed-answers.js';
import { Patches } from './run/patches.js';
import { ProcessReports } from './run/process-reports.js';
import { ProgressReports } from './run/progress-reports.js';
import { RecordedRun } from './run/recorded-run.js';
import { ReplayJournal } from './run/replay-journal.js';
import { RunOutcomes } from './run/run-outcomes.js';
import { RunTable } from './run/run-table.js';
import { RunTools } from './run/run-tools.js';
import { Sleeps } from './run/sleeps.js';
import { UserEvents } from './run/user-events.js';
import { Steps } from './step/steps.js';
import { Supervisors } from './supervision/supervisor.js';

export const runtimeModule = new ContainerModule(({ bind }) => {
  bind(MemoryImageRegistry).toSelf();
  bind(ImageRegistry).toService(MemoryImageRegistry);
  bind(Images).toService(MemoryImageRegistry);
  bind(LiveNodes).to(LiveOffers);
  bind(OsProcesses).to(SystemOsProcesses);
  bind(OsGroups).to(SystemOsGroups);
  bind(OsPrograms).to(SystemOsPrograms);
  bind(AgentService).to(HostAgentService);
  bind(RecordedRun).toConstantValue({});
  const parts = [
    AgentStreams,
    BodyRunner,
    BodyLogs,
    BodyCalls,
    BodyTurns,
    Claims,
    DueWork,
    Executor,
    LiveTurns,
    NodeLease,
    NodeOffering,
    OfferUpdates,
    Patches,
    ProcessReports,
    ProgressReports,
    NodeWatch,
    Recovery,
    Releases,
    StrayStarts,
    RunOutcomes,
    CommittedAnswers,
    ReplayJournal,
    RunTable,
    RunTools,
    Say,
    Supervisors,
    UnplacedProcesses,
    Sleeps,
    Steps,
    BodyContexts,
    UserEvents,
  ];
  for (const part of parts) bind<object>(part).toSelf();
});
