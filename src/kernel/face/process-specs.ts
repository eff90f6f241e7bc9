import type { JsonObject, JsonValue } from '../../base/json.js';
import type { CapabilitySpec, DelegationSpec, Resources } from '../../capability/holding/capability.js';
import type { Right } from '../../capability/resource/rights.js';
import type { ForkMode, ObjectHandle, ObjectRef, ObjectType } from '../../memory/object/object.js';
import type { Budget } from '../budget/budget.js';
import type { Environment } from '../command/command.js';
import type { OnBudget, OnParentExit, OwnerKeys } from '../process/process.js';

export interface SpawnSpec {
  /** `name` or `name@version`; default `base`, which lives until somebody ends it. Of a child: the parent's. */
  readonly image?: string;
  /** A string becomes `{ text }`. */
  readonly goal?: string | JsonObject | ObjectHandle;
  /** Validated by the image's input schema. */
  readonly args?: JsonValue;
  /** The same id and spec again returns the same pid; another spec is CONFLICT. Of a child it has no dots. */
  readonly id?: string;
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly owner?: OwnerKeys;
  /** Nodes claim it from this queue; default: the parent's, else `default`. */
  readonly queue?: string;
  /** Names the work that the process stands for elsewhere; up to 512 characters. */
  readonly externalRef?: string;
  /** For an `id` that stands for another spec: `refuse` (default) throws CONFLICT, `keep` answers with the process that has it. */
  readonly onConflict?: 'refuse' | 'keep';
  /** Root grants. */
  readonly capabilities?: readonly CapabilitySpec<Resources>[];
  readonly budget?: Partial<Budget>;
  readonly onBudget?: OnBudget;
  /** Relative to the workspace; default: the parent's. */
  readonly cwd?: string;
  /** A duration, 366 days at most: it is stopped when that is over. */
  readonly deadlineMs?: number;
  /** For its commands; stored once per content and immutable after spawn. A secret is stored as a reference. */
  readonly env?: Environment;
  /** Default `cancel`. */
  readonly onParentExit?: OnParentExit;
  /** Starts paused. */
  readonly held?: boolean;
}

export interface ChildSpec extends Omit<SpawnSpec, 'capabilities'> {
  /** Drawn from what the parent holds and may hand on. */
  readonly delegate?: readonly DelegationSpec<Resources>[];
}

export interface ViewSpec {
  /** Objects in the parent's view that it may hand on; nothing else of it is left. */
  readonly roots?: readonly ObjectRef[];
  readonly types?: readonly ObjectType[];
  readonly tags?: readonly string[];
  readonly rights?: readonly Right[];
}

export interface ForkSpec extends ChildSpec {
  readonly mode?: ForkMode;
  readonly view?: ViewSpec;
}

export interface ExecSpec {
  readonly image: string;
  readonly args?: JsonValue;
  readonly goal?: SpawnSpec['goal'];
  /** Default true. */
  readonly preserveMemory?: boolean;
  /** Default false. */
  readonly preserveCapabilities?: boolean;
}

export interface WaitOptions {
  /** WAIT_TIMEOUT when it is over; 0 polls. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Of wait, waitAny and waitAll: whether the results are put into the view of the process that waits. Default true. */
  readonly keep?: boolean;
}

export interface ExitSpec {
  readonly result?: JsonValue | ObjectHandle;
  readonly failed?: boolean;
  readonly message?: string;
  readonly exitCode?: number;
}
