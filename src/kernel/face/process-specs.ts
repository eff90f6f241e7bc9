import type { JsonObject, JsonValue } from '../../base/json.js';
import type { CapabilitySpec, DelegationSpec, Resources } from '../../capability/holding/capability.js';
import type { Right } from '../../capability/resource/rights.js';
import type { RuleSpec } from '../../capability/rule/rule.js';
import type { ForkMode, ObjectHandle, ObjectRef, ObjectType } from '../../memory/object/object.js';
import type { Budget } from '../budget/budget.js';
import type { Environment } from '../command/command.js';
import type { OnBudget, OnParentExit, OwnerKeys } from '../process/process.js';
import type { ImageReference } from '../process/typed-image.js';

/** A process to be created. */
export interface SpawnSpec {
  /**
   * An image, or `name` or `name@version` of a registered one; default `base`, which lives until somebody ends it. Of a
   * child: the parent's.
   */
  readonly image?: ImageReference;
  /** A string becomes `{ text }`. */
  readonly goal?: string | JsonObject | ObjectHandle;
  /** Validated by the image's input schema. */
  readonly args?: JsonValue;
  /** The same id and spec again returns the same pid; another spec is CONFLICT. Of a child it has no dots. */
  readonly id?: string;
  /** A name for people; need not be unique. */
  readonly name?: string;
  /** Labels to find and signal it by. */
  readonly labels?: Readonly<Record<string, string>>;
  /** What it belongs to in the application. */
  readonly owner?: OwnerKeys;
  /** Nodes claim it from this queue; default: the parent's, else `default`. */
  readonly queue?: string;
  /** Names the work that the process stands for elsewhere; up to 512 characters. */
  readonly externalRef?: string;
  /** For an `id` that stands for another spec: `refuse` (default) throws CONFLICT, `keep` answers with the process that has it. */
  readonly onConflict?: 'refuse' | 'keep';
  /** Root grants. */
  readonly capabilities?: readonly CapabilitySpec<Resources>[];
  /** Rules that want a person to approve something, set on it in the commit of the spawn: see `capabilities.ask`. */
  readonly ask?: readonly RuleSpec<Resources>[];
  /** Limits on what it and everything under it use; absent ones are those above it. */
  readonly budget?: Partial<Budget>;
  /** Default `refuse`. */
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

/** A child to be created. */
export interface ChildSpec extends Omit<SpawnSpec, 'capabilities' | 'ask'> {
  /** Drawn from what the parent holds and may hand on. */
  readonly delegate?: readonly DelegationSpec<Resources>[];
}

/** The part of the parent's view that a fork gets. Every member narrows it. */
export interface ViewSpec {
  /** Objects in the parent's view that it may hand on; nothing else of it is left. */
  readonly roots?: readonly ObjectRef[];
  /** Only objects of these types. */
  readonly types?: readonly ObjectType[];
  /** Only objects with all of these tags. */
  readonly tags?: readonly string[];
  /** Only these rights on the objects. */
  readonly rights?: readonly Right[];
}

/** A child to be created with a view that is forked from the parent's. */
export interface ForkSpec extends ChildSpec {
  /** How the child uses the objects of the parent; default `restricted`. The modes are explained in docs/guide.md#memory. */
  readonly mode?: ForkMode;
  /** The part of the parent's view that it gets; absent: all of it. */
  readonly view?: ViewSpec;
}

/** The new image of a process. */
export interface ExecSpec {
  /** An image, or `name` or `name@version` of a registered one. */
  readonly image: ImageReference;
  /** Validated by the input schema of the new image. */
  readonly args?: JsonValue;
  /** Absent: the goal stays. */
  readonly goal?: SpawnSpec['goal'];
  /** Default true. */
  readonly preserveMemory?: boolean;
  /** Default false. */
  readonly preserveCapabilities?: boolean;
}

/** Options of a wait. */
export interface WaitOptions {
  /** WAIT_TIMEOUT when it is over; 0 polls. */
  readonly timeoutMs?: number;
  /** Ends the wait with CANCELLED. */
  readonly signal?: AbortSignal;
  /** Of wait, waitAny and waitAll: whether the results are put into the view of the process that waits. Default true. */
  readonly keep?: boolean;
}

/** The end of a process. */
export interface ExitSpec {
  /** JSON, or a handle to an object. */
  readonly result?: JsonValue | ObjectHandle;
  /** Whether the process has failed; default false. */
  readonly failed?: boolean;
  /** A text for people. */
  readonly message?: string;
  /** Kept with the outcome. */
  readonly exitCode?: number;
}
