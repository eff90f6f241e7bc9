import type { Pid } from '../../base/ids.js';
import type { ProcessCapabilities } from '../../capability/process-capabilities.js';
import type { ProcessMemory } from '../../memory/object-memory.js';
import type { NamedFace, OwnFace } from '../../unit/faces.js';
import type { CommandHandle, CommandResult, CommandSpec } from '../command/command.js';
import type { ProcessSyscalls, SharedSyscalls, TargetSyscalls } from './process-syscalls.js';
import type { ProcessTools } from './process-tools.js';

/** The face of one process: the same syscalls, acting as that process and nobody else. */
export interface ProcessFace
  extends OwnFace<SharedSyscalls>,
    NamedFace<TargetSyscalls>,
    Omit<OwnFace<ProcessSyscalls>, 'run'> {
  readonly pid: Pid;
  /** As `ProcessSyscalls.run`. */
  readonly run: RunCommand;
  readonly tools: ProcessTools;
  readonly memory: ProcessMemory;
  readonly capabilities: ProcessCapabilities;
}

/** With `background: true` the answer is a handle, at once. */
export interface RunCommand {
  (spec: CommandSpec & { readonly background: true }): Promise<CommandHandle>;
  (spec: CommandSpec): Promise<CommandResult>;
}
