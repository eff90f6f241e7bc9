import type { ObjectId } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';
import type {
  EntryState,
  NewVersion,
  NumberedView,
  Overlay,
  Snapshot,
  Version,
  ViewEntry,
  ViewRecord,
  ViewState,
} from '../object/object.js';

/** Rows of views, their entries and their overlays. Every method works inside the caller's unit. */
export interface ViewRepository {
  find(tx: ReadTx, n: number): Promise<NumberedView | undefined>;
  /** Returns the number of the new view. */
  insert(tx: WriteTx, view: ViewRecord): Promise<number>;
  setState(tx: WriteTx, n: number, state: ViewState): Promise<void>;
  /** The current ends of the logs, including the writes of this unit. */
  currentSnapshot(tx: ReadTx): Promise<Snapshot>;
  addEntry(tx: WriteTx, view: number, entry: ViewEntry): Promise<void>;
  /** Removes an object, whether it has an entry or comes from the base. */
  removeObject(tx: WriteTx, view: number, object: ObjectId): Promise<void>;
  /** Reverts `removeObject`: the object is as in the base again. */
  restoreObject(tx: WriteTx, view: number, object: ObjectId): Promise<void>;
  /** The state of an object, as of row `asOf` of the log or now. */
  entryState(tx: ReadTx, view: number, object: ObjectId, asOf?: number): Promise<EntryState>;
  /** A page of the objects in the log with their states, in the order of the ids, as of row `asOf` of the log or now. */
  entryStates(
    tx: ReadTx,
    view: number,
    page: { readonly asOf?: number | undefined; readonly after: ObjectId; readonly limit: number },
  ): Promise<readonly { readonly object: ObjectId; readonly entryState: EntryState }[]>;
  /** The view's own version of an object, as of row `asOf` of the log or now. */
  overlay(tx: ReadTx, view: number, object: ObjectId, asOf?: number): Promise<Overlay | undefined>;
  /** The view's own versions of an object, oldest first, up to row `asOf` of the log or up to now. */
  versions(tx: ReadTx, view: number, object: ObjectId, asOf?: number): Promise<readonly Version[]>;
  /** Writes the view's own version of an object; `before` is the one that it replaces. */
  writeOverlay(
    tx: WriteTx,
    view: number,
    before: Overlay | undefined,
    next: NewVersion & Pick<Overlay, 'object' | 'baseHash' | 'baseVersion'>,
  ): Promise<void>;
  /** All of the view's own versions, in the order of the object ids. */
  overlays(tx: ReadTx, view: number): Promise<readonly Overlay[]>;
}
export const ViewRepository: Token<ViewRepository> = token('ViewRepository');
