import type { Pid } from './ids.js';
import { type Token, token } from './token.js';

/** An open read unit. It is passed to repositories and has no use of its own. */
export interface ReadTx {
  /** Marks the type; there is nothing to read from it. */
  readonly opaque: true;
}

/** An open write unit: all its changes become visible and durable together, or none of them. */
export interface WriteTx extends ReadTx {
  /** Buffers `item` for `channel` until the group is sealed; dropped when this unit fails. */
  defer<T>(channel: Channel<T, unknown>, item: T): void;
  /**
   * Calls `queue` when the unit has succeeded, before its group is committed: a unit that is queued by it joins the group where
   * there is room. It must not throw, and what it does must not depend on the commit.
   */
  afterUnit(queue: () => void): void;
}

/**
 * A numbered log that is written once per group of units. Units only buffer their items; the store seals them
 * after the last unit, so that a unit that fails leaves no gap in the numbers.
 */
export interface Channel<Item, Sealed> {
  /** Numbers and inserts the group's items, in unit order, inside its transaction. */
  seal(tx: WriteTx, items: readonly Item[]): Promise<Sealed>;
  /** Called after COMMIT, before the promises of the units resolve. Must not throw. */
  committed(sealed: Sealed): void;
}

/**
 * The only access to the data. Inside a unit, code awaits repositories and nothing else: no I/O, no
 * timers, no user code.
 */
export interface Store {
  /** Creates or migrates the database. Called once, before anything else. */
  open(): Promise<void>;
  /**
   * Runs one atomic unit; resolves after its commit. An error in `work` undoes the unit and is passed on. `work` changes nothing
   * but through `tx`, and may be run again: nothing of the earlier run was kept. `about` names the processes that it will look at,
   * which spares a remote store round trips; leaving it out is slower and never wrong.
   */
  write<T>(work: (tx: WriteTx) => Promise<T>, about?: readonly Pid[]): Promise<T>;
  /** Runs a unit that sees one committed state. */
  read<T>(work: (tx: ReadTx) => Promise<T>): Promise<T>;
  /**
   * Gives up to `limit` free pages back to the file system, in a unit that calls `begin` first. Answers how many are left that
   * can be given back.
   */
  releasePages?(limit: number, begin: () => void): Promise<number>;
  /** Rewrites the file without its free pages, and so that later ones can be given back. Nobody else can use it meanwhile. */
  compact?(): Promise<void>;
  /**
   * Calls `listener` after another connection has committed. `hasLostCommits`: commits that were seen are not there any more, as
   * after a failover of a database server.
   */
  onForeignCommit(listener: (hasLostCommits: boolean) => void): Disposable;
  /** Closes the store after the units that have begun. */
  close(): Promise<void>;
}
export const Store: Token<Store> = token('Store');

/** The part of a store that only reads. */
export type StoreReader = Pick<Store, 'read'>;
