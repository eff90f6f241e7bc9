import type { Pid } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import type { KnownType } from '../../base/schema/schema-types.js';
import type { ProcessResult } from '../process/process.js';
import type { ImageOutput, ImageReference } from '../process/typed-image.js';
import type { ChildSpec, WaitOptions } from './process-specs.js';
import type { CallParameters, ChildSpecOf, ExecSpecOf, ForkSpecOf, PidOf, SpawnSpecOf } from './typed-specs.js';

/** The type of the result that a pid remembers. */
export type ResultOf<P> = P extends Pid<infer Result> ? KnownType<Result> : JsonValue;

/** The results of several processes, in the order of their pids: a tuple for a tuple. */
export type ResultsOf<Pids extends readonly Pid[]> = {
  -readonly [Index in keyof Pids]: ProcessResult<ResultOf<Pids[Index]>>;
};

/**
 * The calls of the host that depend on the types of an image. An image that is given itself is registered by the call, if its
 * name and version are free; another one under them is CONFLICT. Other nodes that shall run it register it as ever.
 */
export interface HostTypedCalls {
  /** Creates a root process; `capabilities` are root grants. Throws NO_SUCH_IMAGE, INVALID_PATH, CONFLICT. */
  spawn<Image extends ImageReference = string>(spec?: SpawnSpecOf<Image>): Promise<PidOf<Image>>;
  /** Creates a child with a fresh view. Throws AMPLIFICATION, BUDGET_EXCEEDED, TREE_STOPPING, PROCESS_TERMINATED. */
  spawnChild<Image extends ImageReference = string>(parent: Pid, spec?: ChildSpecOf<Image>): Promise<PidOf<Image>>;
  /** Creates a child with a view that is forked from the parent's. Throws as `spawnChild`. */
  fork<Image extends ImageReference = string>(parent: Pid, spec?: ForkSpecOf<Image>): Promise<PidOf<Image>>;
  /** Same pid, new image; authority shrinks. Throws NO_SUCH_IMAGE, CAPABILITY_DENIED, INVALID_TRANSITION. */
  exec<Image extends ImageReference = string>(pid: Pid, spec: ExecSpecOf<Image>): Promise<void>;
  /** Waits for any process. Throws NO_SUCH_PROCESS, WAIT_TIMEOUT. */
  result<Result = JsonValue>(pid: Pid<Result>, options?: WaitOptions): Promise<ProcessResult<KnownType<Result>>>;
  /**
   * Waits for any process and answers with the value of its result. Throws PROCESS_FAILED, with the outcome among its facts,
   * for one that did not exit, and as `result`.
   */
  value<Result = JsonValue>(pid: Pid<Result>, options?: WaitOptions): Promise<KnownType<Result>>;
  /** Resolves when the child has ended. Throws NOT_A_CHILD, WAIT_CYCLE, WAIT_TIMEOUT, CANCELLED. */
  wait<Result = JsonValue>(
    pid: Pid,
    child: Pid<Result>,
    options?: WaitOptions,
  ): Promise<ProcessResult<KnownType<Result>>>;
  /** The first that ends of `children`, or of all whose result was not collected yet. Throws NO_CHILDREN, as `wait`. */
  waitAny<const Pids extends readonly Pid[]>(
    pid: Pid,
    children?: Pids,
    options?: WaitOptions,
  ): Promise<ProcessResult<ResultOf<Pids[number]>>>;
  /** All of `children`, in the order given, or all whose result was not collected yet. Throws as `waitAny`. */
  waitAll<const Pids extends readonly Pid[]>(
    pid: Pid,
    children?: Pids,
    options?: WaitOptions,
  ): Promise<ResultsOf<Pids>>;
}

/** The calls of a process that depend on the types of an image. An image that is given itself is registered as by the host. */
export interface OwnTypedCalls {
  /** Creates a child with a fresh view. Throws AMPLIFICATION, BUDGET_EXCEEDED, TREE_STOPPING, PROCESS_TERMINATED. */
  spawnChild<Image extends ImageReference = string>(spec?: ChildSpecOf<Image>): Promise<PidOf<Image>>;
  /** Creates a child with a view that is forked from the parent's. Throws as `spawnChild`. */
  fork<Image extends ImageReference = string>(spec?: ForkSpecOf<Image>): Promise<PidOf<Image>>;
  /** Same pid, new image; authority shrinks. Throws NO_SUCH_IMAGE, CAPABILITY_DENIED, INVALID_TRANSITION. */
  exec<Image extends ImageReference = string>(spec: ExecSpecOf<Image>): Promise<void>;
  /** Resolves when the child has ended. Throws NOT_A_CHILD, WAIT_CYCLE, WAIT_TIMEOUT, CANCELLED. */
  wait<Result = JsonValue>(child: Pid<Result>, options?: WaitOptions): Promise<ProcessResult<KnownType<Result>>>;
  /** The first that ends of `children`, or of all whose result was not collected yet. Throws NO_CHILDREN, as `wait`. */
  waitAny<const Pids extends readonly Pid[]>(
    children?: Pids,
    options?: WaitOptions,
  ): Promise<ProcessResult<ResultOf<Pids[number]>>>;
  /** All of `children`, in the order given, or all whose result was not collected yet. Throws as `waitAny`. */
  waitAll<const Pids extends readonly Pid[]>(children?: Pids, options?: WaitOptions): Promise<ResultsOf<Pids>>;
  /**
   * Waits for a child and answers with the value of its result. Throws PROCESS_FAILED, with the outcome among its facts, for
   * one that did not exit, and as `wait`.
   */
  value<Result = JsonValue>(child: Pid<Result>, options?: WaitOptions): Promise<KnownType<Result>>;
  /** `spawnChild` and `value` in one: runs an image as a child and answers with its result. Throws as both. */
  call<Image extends ImageReference>(
    image: Image,
    ...parameters: CallParameters<Image, ChildSpec>
  ): Promise<ImageOutput<Image>>;
}
