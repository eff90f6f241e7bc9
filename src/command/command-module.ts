import { ContainerModule } from 'inversify';
import { ProgramNames } from '../capability/resource/program-names.js';
import {
  Adoptions,
  CommandIdentities,
  CommandOutput,
  CommandPlans,
  CommandRuns,
  OutputPaths,
} from '../kernel/command/command-ports.js';
import { CommandRecovery } from '../runtime/node/recovery.js';
import { CommandService } from './command-service.js';
import { AdoptionChecks } from './drive/adoption-checks.js';
import { CommandClaimer } from './drive/command-claimer.js';
import { CommandDriverDeps } from './drive/command-driver.js';
import { CommandDrivers } from './drive/command-drivers.js';
import { CommandGuard } from './drive/command-guard.js';
import { CommandRecorder } from './drive/command-recorder.js';
import { CommandRunner } from './drive/command-runner.js';
import { OsAdoptions } from './drive/os-adoptions.js';
import { OsCommandRecovery } from './drive/os-command-recovery.js';
import { OsIdentities } from './drive/os-identities.js';
import { PipedCommands } from './drive/piped-commands.js';
import { SecretResolver } from './drive/secret-resolver.js';
import { TreeWatch } from './drive/tree-watch.js';
import { OutputCopier } from './output/output-copier.js';
import { OutputFiles, OutputFolder } from './output/output-files.js';
import { OutputMeter } from './output/output-meter.js';
import { OutputReader } from './output/output-reader.js';
import { CommandPlanner } from './plan/command-planner.js';
import { SystemProgramNames } from './plan/system-program-names.js';

/** Commands, whose output files lie in `outputFolder`. */
export function commandModule(outputFolder: OutputFolder): ContainerModule {
  return new ContainerModule(({ bind }) => {
    bind(OutputFolder).toConstantValue(outputFolder);
    const parts = [
      AdoptionChecks,
      CommandClaimer,
      CommandDrivers,
      CommandPlanner,
      SecretResolver,
      SystemProgramNames,
      CommandRecorder,
      CommandService,
      CommandDriverDeps,
      CommandGuard,
      PipedCommands,
      OutputCopier,
      OutputFiles,
      OutputMeter,
      TreeWatch,
    ];
    for (const part of parts) bind<object>(part).toSelf();
    bind(OutputPaths).toService(OutputFiles);
    bind(CommandOutput).to(OutputReader);
    bind(ProgramNames).toService(SystemProgramNames);
    bind(CommandPlans).toService(CommandPlanner);
    bind(CommandRuns).to(CommandRunner);
    bind(CommandIdentities).to(OsIdentities);
    bind(Adoptions).to(OsAdoptions);
    bind(CommandRecovery).to(OsCommandRecovery);
  });
}
