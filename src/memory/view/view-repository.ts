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

/** Rows of views, what is in them and what was written through them. Every method works inside the caller's unit. */
export interface ViewRepository {
  find(tx: ReadTx, n: number): Promise<NumberedView | undefined>;
  /** Answers with the number of the new view. */
  insert(tx: WriteTx, view: ViewRecord): Promise<number>;
  setState(tx: WriteTx, n: number, state: ViewState): Promise<void>;
  /** How far the logs go now, the writes of this unit among them. */
  mark(tx: ReadTx): Promise<Snapshot>;
  addEntry(tx: WriteTx, view: number, entry: ViewEntry): Promise<void>;
  /** Takes an object out, whether it has an entry or comes from the base. */
  takeOut(tx: WriteTx, view: number, object: ObjectId): Promise<void>;
  /** Ends that: the object is as in the base again. */
  bringBack(tx: WriteTx, view: number, object: ObjectId): Promise<void>;
  /** How an object stands in the log, as of a row of it or as it is now. */
  standing(tx: ReadTx, view: number, object: ObjectId, asOf?: number): Promise<EntryState>;
  /** All objects that the log tells of in their order, as of a row of it or as they are now, in pages. */
  standings(
    tx: ReadTx,
    view: number,
    page: { readonly asOf?: number | undefined; readonly after: ObjectId; readonly limit: number },
  ): Promise<readonly { readonly object: ObjectId; readonly standing: EntryState }[]>;
  /** The version that the view itself has of an object, as of a row of the log or as it is now. */
  overlay(tx: ReadTx, view: number, object: ObjectId, asOf?: number): Promise<Overlay | undefined>;
  /** All the versions that the view itself has had of an object, oldest first, as of a row of the log or until now. */
  versions(tx: ReadTx, view: number, object: ObjectId, asOf?: number): Promise<readonly Version[]>;
  /** Puts a version there; `before` is the one that it takes the place of. */
  write(
    tx: WriteTx,
    view: number,
    before: Overlay | undefined,
    next: NewVersion & Pick<Overlay, 'object' | 'baseHash' | 'baseVersion'>,
  ): Promise<void>;
  /** All that the view has of its own, in order of the objects. */
  overlays(tx: ReadTx, view: number): Promise<readonly Overlay[]>;
}
export const ViewRepository: Token<ViewRepository> = token('ViewRepository');
