import type { ObjectId } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import type { NumberedView, ObjectRecord, Overlay, Version } from '../object/object.js';
import type { WriteTarget } from '../object/version-writer.js';

/** What both sides have made of an object since the fork. A payload over 4 KiB is told by its hash only. */
export type MergeConflict = {
  readonly object: ObjectId;
  readonly base: MergeSide;
  readonly ours: MergeSide;
  readonly theirs: MergeSide;
};

export type MergeSide = {
  readonly version: number;
  readonly hash: string;
  readonly payload?: JsonValue;
};

/** What is done about an object that both sides have changed. */
export type MergePolicy =
  | 'fail'
  | 'ours'
  | 'theirs'
  | ((
      base: JsonValue,
      ours: JsonValue,
      theirs: JsonValue,
      at: { readonly object: ObjectId },
    ) => JsonValue | Promise<JsonValue>);

export interface MergeResult {
  /** Objects that have a new version now. */
  readonly merged: readonly ObjectId[];
  /** Objects that the child made and that are the parent's now. */
  readonly adopted: readonly ObjectId[];
  readonly skipped: readonly { readonly object: ObjectId; readonly reason: SkipReason }[];
  /** Those that a policy has settled; with `fail` there are none, or the call throws. */
  readonly conflicts: readonly MergeConflict[];
}

export type SkipReason = 'no_right' | 'immutable' | 'name_taken' | 'same' | 'deleted';

/** One object that the child has written through its view. */
export interface MergeStep {
  readonly place: WriteTarget;
  readonly theirs: Overlay;
  /** What it was at the fork; only where the parent has changed it since. */
  readonly base: Version | undefined;
}

/** What a merge would do, as of one state. */
export interface MergePlan {
  readonly view: NumberedView;
  readonly steps: readonly MergeStep[];
  readonly skipped: MergeResult['skipped'];
  /** What the child made in its own namespaces. */
  readonly made: readonly ObjectRecord[];
}

const shownBytesMax = 4096;

export function isConflict(step: MergeStep): step is MergeStep & { readonly base: Version } {
  return step.base !== undefined;
}

export function toConflict({ place, theirs, base }: MergeStep & { readonly base: Version }): MergeConflict {
  return { object: place.object.id, base: side(base), ours: side(place.before), theirs: side(theirs) };
}

/** What a function's answer was given to: when this has changed, it has to be asked again. */
export function fingerprint({ place, theirs, base }: MergeStep): string {
  return [place.object.id, base?.hash, place.before.hash, theirs.hash].join(' ');
}

function side({ version, hash, payload }: Version): MergeSide {
  const isShown = Buffer.byteLength(JSON.stringify(payload)) <= shownBytesMax;
  return isShown ? { version, hash, payload } : { version, hash };
}
