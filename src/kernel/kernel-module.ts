import { ContainerModule } from 'inversify';
import { LineageQuery } from '../audit/query/lineage.js';
import { WakePort } from '../capability/approval/wake-port.js';
import { FilePlaces } from '../capability/resource/workspace-files.js';
import { MemoryCharges } from '../memory/memory-charges.js';
import { hostFaceOf } from '../unit/faces.js';
import { ProcessGate } from '../unit/process-gate.js';
import { RefusalObserver } from '../unit/refusal-observer.js';
import { AccountCharges, Accounts } from './budget/accounts.js';
import { AdoptedEnds } from './command/adopted-ends.js';
import { CommandEnds } from './command/command-ends.js';
import { InheritedEnvironments } from './command/inherited-environments.js';
import { Effects } from './effect/effects.js';
import { HostSyscalls } from './face/host-syscalls.js';
import { ProcessFaces } from './face/process-faces.js';
import { ProcessManager } from './face/process-manager.js';
import { ProcessSyscalls, SharedSyscalls, TargetSyscalls } from './face/process-syscalls.js';
import { BudgetStops } from './lifecycle/budget-stops.js';
import { Deadlines } from './lifecycle/deadlines.js';
import { FaceGate } from './lifecycle/face-gate.js';
import { ProcessEnds } from './lifecycle/process-ends.js';
import { ProcessTimers } from './lifecycle/process-timers.js';
import { PrunedLeftovers } from './lifecycle/pruned-leftovers.js';
import { SpawnGate } from './lifecycle/spawn-gate.js';
import { SpawnStarts } from './lifecycle/spawn-starts.js';
import { Spawning } from './lifecycle/spawning.js';
import { UnusedEnvironments } from './lifecycle/unused-environments.js';
import { Attachments } from './message/attachments.js';
import { InboxChecks } from './message/inbox-checks.js';
import { NodeWaits } from './node/node-waits.js';
import { ProcessLineage } from './process/process-lineage.js';
import { ProcessLookup } from './process/process-lookup.js';
import { ProcessResults } from './process/process-results.js';
import { ShareableObjects } from './process/shareable-objects.js';
import { AnswerChecks } from './question/answer-checks.js';
import { HostQuestionQueue, QuestionQueue } from './question/question-queue.js';
import { SignalTargets } from './signal/signal-targets.js';
import { SignalledCommands } from './signal/signalled-commands.js';
import { AnswerQuestion } from './syscalls/answer-question.js';
import { Ask } from './syscalls/ask.js';
import { Budgets } from './syscalls/budgets.js';
import { Chdir } from './syscalls/chdir.js';
import { Exec } from './syscalls/exec.js';
import { Exit } from './syscalls/exit.js';
import { External } from './syscalls/external.js';
import { Fork } from './syscalls/fork.js';
import { RunHistory } from './syscalls/history.js';
import { InspectProcess } from './syscalls/inspect.js';
import { ProcessLogs } from './syscalls/logs.js';
import { Prune } from './syscalls/prune.js';
import { Queries } from './syscalls/queries.js';
import { Receive } from './syscalls/receive.js';
import { Renew } from './syscalls/renew.js';
import { Retry } from './syscalls/retry.js';
import { Send } from './syscalls/send.js';
import { SetOwner } from './syscalls/set-owner.js';
import { Signal } from './syscalls/signal.js';
import { Spawn } from './syscalls/spawn.js';
import { Wait } from './syscalls/wait.js';
import { WaitSignal } from './syscalls/wait-signal.js';
import { ExitFollowUps } from './waiting/exit-follow-ups.js';
import { ExitWait } from './waiting/exit-wait.js';
import { InboxWait } from './waiting/inbox-wait.js';
import { ProcessRights } from './waiting/process-rights.js';
import { AgentWatch, ExitWatch, InboxWatch, ResumeWatch } from './waiting/process-watch.js';
import { WaitGraph } from './waiting/wait-graph.js';
import { Waker } from './waiting/waker.js';
import { FolderAccess } from './workspace/folder-access.js';
import { WorkingDirectories } from './workspace/working-directory.js';
import { WorkspacePlaces } from './workspace/workspace-places.js';

export const kernelModule = new ContainerModule(({ bind }) => {
  const parts = [
    Accounts,
    AgentWatch,
    ProcessTimers,
    InboxWatch,
    InboxWait,
    InheritedEnvironments,
    SpawnGate,
    Spawning,
    SpawnStarts,
    ExitFollowUps,
    UnusedEnvironments,
    PrunedLeftovers,
    Effects,
    AdoptedEnds,
    CommandEnds,
    Attachments,
    InboxChecks,
    ExitWait,
    ExitWatch,
    ResumeWatch,
    Deadlines,
    FaceGate,
    ProcessEnds,
    ProcessLookup,
    BudgetStops,
    NodeWaits,
    ProcessResults,
    ProcessRights,
    WaitGraph,
    Waker,
    AnswerChecks,
  ];
  const syscalls = [
    AnswerQuestion,
    Ask,
    Budgets,
    Chdir,
    Exec,
    Renew,
    Retry,
    Exit,
    External,
    Fork,
    RunHistory,
    InspectProcess,
    ProcessLogs,
    Prune,
    Queries,
    Receive,
    Send,
    SetOwner,
    Signal,
    Spawn,
    Wait,
    WaitSignal,
  ];
  for (const part of [
    ...parts,
    ...syscalls,
    ShareableObjects,
    SignalTargets,
    SignalledCommands,
    WorkingDirectories,
    FolderAccess,
    HostSyscalls,
    ProcessFaces,
    ProcessSyscalls,
    SharedSyscalls,
    TargetSyscalls,
  ])
    bind<object>(part).toSelf();
  bind(QuestionQueue).to(HostQuestionQueue);
  bind(FilePlaces).to(WorkspacePlaces);
  bind(LineageQuery).to(ProcessLineage);
  bind(WakePort).toService(Waker);
  bind(RefusalObserver).toService(BudgetStops);
  bind(ProcessGate).toService(FaceGate);
  bind(MemoryCharges).to(AccountCharges);
  bind(ProcessManager).toDynamicValue(({ get }) => {
    const face = {
      ...hostFaceOf(get(SharedSyscalls)),
      ...hostFaceOf(get(TargetSyscalls)),
      ...hostFaceOf(get(HostSyscalls)),
    };
    // The types of images are known to the compiler only.
    return face as object as ProcessManager;
  });
});
