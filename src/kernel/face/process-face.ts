import type { Pid } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import type { Schema, SchemaOutput } from '../../base/schema/schema-types.js';
import type { ProcessCapabilities } from '../../capability/process-capabilities.js';
import type { ProcessMemory } from '../../memory/object-memory.js';
import type { NamedFace, OwnFace } from '../../unit/faces.js';
import type { CommandHandle, CommandResult, CommandSpec } from '../command/command.js';
import type { Message, ReceiveOptions } from '../message/message.js';
import type { AskOptions } from '../question/question.js';
import type { ProcessSyscalls, SharedSyscalls, TargetSyscalls } from './process-syscalls.js';
import type { ProcessTools } from './process-tools.js';
import type { OwnTypedCalls } from './typed-calls.js';

/** The face of one process: the same syscalls, acting as that process and nobody else. */
export interface ProcessFace
  extends Omit<OwnFace<SharedSyscalls>, keyof OwnTypedCalls>,
    NamedFace<TargetSyscalls>,
    Omit<OwnFace<ProcessSyscalls>, 'run' | 'receive' | 'ask' | keyof OwnTypedCalls>,
    OwnTypedCalls {
  /** The process. */
  readonly pid: Pid;
  /** Runs a command of the operating system as a child of the process. */
  readonly run: RunCommand;
  /**
   * The oldest message in the mailbox, or the next that comes, with a body that fits `schema`: its type is that of the schema's
   * output. Throws INVALID_INPUT for one that does not fit, with the message and its sender in `facts`; it has been taken.
   * Throws WAIT_TIMEOUT, CANCELLED, PROCESS_TERMINATED.
   */
  receive<const S extends Schema>(options: ReceiveOptions & { readonly schema: S }): Promise<Message<SchemaOutput<S>>>;
  /** The oldest message in the mailbox, or the next that comes. Throws WAIT_TIMEOUT, CANCELLED, PROCESS_TERMINATED. */
  receive(options?: ReceiveOptions): Promise<Message>;
  /**
   * Asks a person, and waits for an answer that fits `schema`: its type is that of the schema's output. Throws WAIT_TIMEOUT,
   * CANCELLED, PROCESS_TERMINATED, TOO_MANY_QUESTIONS, INVALID_INPUT.
   */
  ask<const S extends Schema>(
    question: string,
    options: AskOptions & { readonly schema: S; readonly choices?: readonly JsonValue[] },
  ): Promise<SchemaOutput<S>>;
  /** As above, for an answer that is one of `choices`; without them, for any JSON. */
  ask<const Choice extends JsonValue = JsonValue>(
    question: string,
    options?: AskOptions & { readonly choices?: readonly Choice[] },
  ): Promise<Choice>;
  /** The tools that it sees. */
  readonly tools: ProcessTools;
  /** The objects that it may use. */
  readonly memory: ProcessMemory;
  /** Its authority. */
  readonly capabilities: ProcessCapabilities;
}

/** With `background: true` the answer is a handle, at once. */
export interface RunCommand {
  (spec: CommandSpec & { readonly background: true }): Promise<CommandHandle>;
  (spec: CommandSpec): Promise<CommandResult>;
}
