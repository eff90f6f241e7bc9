import { ContainerModule } from 'inversify';
import { CommandOutput, OutputPaths } from '../kernel/command/command-output.js';
import { CommandPlans } from '../kernel/command/command-plans.js';
import { CommandRuns } from '../kernel/command/command-runs.js';
import { CommandRecovery } from '../runtime/node/command-recovery.js';
import { Commands } from './commands.js';
import { CommandClaims } from './drive/command-claims.js';
import { CommandDriverDeps } from './drive/command-driver.js';
import { CommandDrivers } from './drive/command-drivers.js';
import { CommandRecords } from './drive/command-records.js';
import { CommandRunner } from './drive/command-runner.js';
import { Guard } from './drive/guard.js';
import { OsCommandRecovery } from './drive/os-command-recovery.js';
import { PipedCommands } from './drive/piped-commands.js';
import { SystemPipedCommands } from './drive/system-piped-commands.js';
import { CommandReader } from './output/command-reader.js';
import { OutputFiles, OutputFolder } from './output/output-files.js';
import { OutputMeter } from './output/output-meter.js';
import { CommandPlanner } from './plan/command-planner.js';

/** Commands; what they write lies in the folder beside the database `path`. */
export function commandsModule({ path }: { readonly path: string }): ContainerModule {
  return new ContainerModule(({ bind }) => {
    bind(OutputFolder).toConstantValue({ path: path === ':memory:' ? null : `${path}.output` });
    const parts = [
      CommandClaims,
      CommandDrivers,
      CommandPlanner,
      CommandRecords,
      Commands,
      CommandDriverDeps,
      Guard,
      OutputFiles,
      OutputMeter,
    ];
    for (const part of parts) bind<object>(part).toSelf();
    bind(OutputPaths).toService(OutputFiles);
    bind(CommandOutput).to(CommandReader);
    bind(CommandPlans).toService(CommandPlanner);
    bind(CommandRuns).to(CommandRunner);
    bind(CommandRecovery).to(OsCommandRecovery);
    bind(PipedCommands).to(SystemPipedCommands);
  });
}
