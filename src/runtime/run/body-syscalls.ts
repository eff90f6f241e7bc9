import type { JsonObject, JsonValue } from '../../base/json.js';
import type { Schema, SchemaOutput } from '../../base/schema/schema-types.js';
import type { ProcessFace } from '../../kernel/face/process-face.js';
import type { WaitOptions } from '../../kernel/face/process-specs.js';
import type { ObjectHandle } from '../../memory/object/object.js';
import type { AgentTurns } from '../agent/body-turns.js';
import type { StepOptions } from '../step/steps.js';

/**
 * The `ctx` that the body of an image receives: the face of its process, journalled and fenced. A call that has been
 * answered is answered the same when the body is run again; only reads are made anew.
 */
export interface Syscalls extends Omit<ProcessFace, 'signal'> {
  /** The arguments of the process. */
  readonly args: JsonValue;
  /** The object with its goal. */
  readonly goal: ObjectHandle;
  /** Its working directory, relative to the workspace. */
  readonly cwd: string;
  /** The state that the body was renewed with; undefined for one that was not. */
  readonly state: JsonValue | undefined;
  /** Aborts when the process is stopped, when the node shuts down, and when this run has lost its process. */
  readonly signal: AbortSignal;
  /** Counts from 1; grows when a body failed and its retry policy starts it again. */
  readonly attempt: number;
  /** Runs `work` once: its result is committed before the promise resolves, and a rerun gets the stored one. */
  step<T>(name: string, work: () => T | Promise<T>, options?: StepOptions): Promise<T>;
  /** `signal` of the face of the process, journalled. */
  readonly sendSignal: ProcessFace['signal'];
  /**
   * The payload of a signal, which fits `schema`: its type is that of the schema's output. The signal is journalled as it was
   * sent, and a rerun validates it again. Throws INVALID_INPUT for one that does not fit, and as without a schema.
   */
  waitSignal<const S extends Schema>(
    name: string,
    options: WaitOptions & { readonly schema: S },
  ): Promise<SchemaOutput<S>>;
  /** The n-th wait gets the n-th signal `user.NAME` that is sent to it. Throws WAIT_TIMEOUT, CANCELLED. */
  waitSignal(name: string, options?: WaitOptions): Promise<JsonValue>;
  /**
   * Begins the body anew, in one commit: the same image runs with an empty journal and `state` as its `ctx.state`. Pid,
   * children, budget, capabilities and mailbox stay; answers of the former journal are gone, and questions that wait are closed.
   * It rejects with RUN_ENDED, which is to be let pass. Throws INVALID_INPUT, BUDGET_EXCEEDED, TREE_STOPPING; nothing is changed
   * then.
   */
  renew(state: JsonValue): Promise<never>;
  /** Waits. The end of the wait is fixed when it begins, so that a rerun does not wait again. Throws CANCELLED. */
  sleep(ms: number): Promise<void>;
  /**
   * Stores an event that the image declares in `events`, as `user.NAME`, with the output of its schema: at most 16 KiB of
   * JSON. A rerun does not emit it again. Throws INVALID_INPUT, BUDGET_EXCEEDED.
   */
  emit(name: string, data?: JsonObject): Promise<void>;
  /**
   * Whether this process takes a changed way: true where its journal has the mark `name`; false while answers of earlier
   * runs are left that no call has asked for; otherwise true, and the mark is journalled.
   */
  patched(name: string): Promise<boolean>;
  /** The turns of an agent, for `kernel.agents`. */
  readonly turns: AgentTurns;
  /** Shown in the process table, at most a few times a second. */
  progress(done: number, total?: number, text?: string): void;
  /**
   * Keeps a line with the process, without what looks like a secret: at most 4 KiB, the newest 1,000 lines, counted as
   * `storedBytes`. A rerun does not log it again. `processes.logs` reads them. Throws INVALID_INPUT, BUDGET_EXCEEDED.
   */
  log(text: string, facts?: object): Promise<void>;
}
