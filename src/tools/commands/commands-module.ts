import { ContainerModule } from 'inversify';
import { CommandOutput, OutputPlaces } from '../../kernel/command-output.js';
import { CommandPlans } from '../../kernel/command-plans.js';
import { CommandRuns } from '../../kernel/command-runs.js';
import { CommandRecovery } from '../../runtime/command-recovery.js';
import { CommandClaims } from './command-claims.js';
import { DriverKit } from './command-driver.js';
import { CommandDrivers } from './command-drivers.js';
import { CommandPlanner } from './command-planner.js';
import { CommandReader } from './command-reader.js';
import { CommandRecords } from './command-records.js';
import { Commands } from './commands.js';
import { Guard } from './guard.js';
import { OsCommandRecovery } from './os-command-recovery.js';
import { OutputFiles, OutputFolder } from './output-files.js';
import { OutputMeter } from './output-meter.js';
import { PipedCommands } from './piped-commands.js';
import { RunCommand } from './run-command.js';
import { SystemPipedCommands } from './system-piped-commands.js';

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
      DriverKit,
      Guard,
      OutputFiles,
      OutputMeter,
    ];
    for (const part of parts) bind<object>(part).toSelf();
    bind(OutputPlaces).toService(OutputFiles);
    bind(CommandOutput).to(CommandReader);
    bind(CommandPlans).toService(CommandPlanner);
    bind(CommandRuns).to(RunCommand);
    bind(CommandRecovery).to(OsCommandRecovery);
    bind(PipedCommands).to(SystemPipedCommands);
  });
}
