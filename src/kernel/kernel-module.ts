import { ContainerModule } from 'inversify';
import { LineageQuery } from '../audit/lineage.js';
import { FilePlaces } from '../capability/file-places.js';
import { Waking } from '../capability/waking.js';
import { TokenCharges } from '../memory/token-charges.js';
import { AccountCharges } from './account-charges.js';
import { Accounts } from './accounts.js';
import { Alarms } from './alarms.js';
import { ArrivalWatch } from './arrival-watch.js';
import { Arrivals } from './arrivals.js';
import { Births } from './births.js';
import { CommandEnds } from './command-ends.js';
import { Effects } from './effects.js';
import { Enclosures } from './enclosures.js';
import { EndWait } from './end-wait.js';
import { EndWatch } from './end-watch.js';
import { Endings } from './endings.js';
import { FolderAccess } from './folder-access.js';
import { Journal } from './journal.js';
import { Lookup } from './lookup.js';
import { Overspending } from './overspending.js';
import { ProcessFaces } from './process-faces.js';
import { ProcessLineage } from './process-lineage.js';
import { HostProcessManager, ProcessManager } from './process-manager.js';
import { ProcessResults } from './process-results.js';
import { SignalAuthority } from './signal-authority.js';
import { SignalTargets } from './signal-targets.js';
import { Budgets } from './syscalls/budgets.js';
import { Chdir } from './syscalls/chdir.js';
import { Exec } from './syscalls/exec.js';
import { Exit } from './syscalls/exit.js';
import { External } from './syscalls/external.js';
import { Fork } from './syscalls/fork.js';
import { Journals } from './syscalls/journals.js';
import { Prune } from './syscalls/prune.js';
import { Queries } from './syscalls/queries.js';
import { Receive } from './syscalls/receive.js';
import { Send } from './syscalls/send.js';
import { BirthShaper } from './syscalls/shape-birth.js';
import { Signal } from './syscalls/signal.js';
import { Spawn } from './syscalls/spawn.js';
import { SpawnChild } from './syscalls/spawn-child.js';
import { Wait } from './syscalls/wait.js';
import { WaitSignal } from './syscalls/wait-signal.js';
import { Units } from './units.js';
import { WaitGraph } from './wait-graph.js';
import { Wakes } from './wakes.js';
import { WorkingDirectories } from './working-directory.js';
import { WorkspacePlaces } from './workspace-places.js';

export const kernelModule = new ContainerModule(({ bind }) => {
  const parts = [
    Accounts,
    Alarms,
    ArrivalWatch,
    Arrivals,
    Births,
    Effects,
    CommandEnds,
    Enclosures,
    EndWait,
    EndWatch,
    Endings,
    Journal,
    Lookup,
    Overspending,
    ProcessResults,
    Units,
    WaitGraph,
    Wakes,
  ];
  const syscalls = [
    Budgets,
    Chdir,
    Exec,
    Exit,
    External,
    Fork,
    Journals,
    Prune,
    Queries,
    Receive,
    Send,
    Signal,
    Spawn,
    SpawnChild,
    Wait,
    WaitSignal,
  ];
  for (const part of [
    ...parts,
    ...syscalls,
    BirthShaper,
    SignalTargets,
    SignalAuthority,
    WorkingDirectories,
    FolderAccess,
    ProcessFaces,
  ])
    bind<object>(part).toSelf();
  bind(FilePlaces).to(WorkspacePlaces);
  bind(LineageQuery).to(ProcessLineage);
  bind(Waking).toService(Wakes);
  bind(TokenCharges).to(AccountCharges);
  bind(ProcessManager).to(HostProcessManager);
});
