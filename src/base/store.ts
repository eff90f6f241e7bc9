import { type Token, token } from './token.js';

/** An open read unit. Opaque: it is handed to repositories, which know what to do with it. */
export interface ReadTx {
  readonly opaque: true;
}

/** An open write unit: everything done with it becomes visible and durable together, or not at all. */
export interface WriteTx extends ReadTx {
  /** Keeps `item` for `channel` until the group is sealed; dropped when this unit is refused. */
  defer<T>(channel: Channel<T, unknown>, item: T): void;
}

/**
 * What units write together once per group: the numbered logs. A unit only buffers its items; the store seals them
 * after the last unit, so that numbers have no gap and a refused unit leaves none.
 */
export interface Channel<Item, Sealed> {
  /** Numbers and inserts the group's items, in unit order, inside its transaction. */
  seal(tx: WriteTx, items: readonly Item[]): Promise<Sealed>;
  /** Told after COMMIT, before the callers of the units are. Must not throw. */
  committed(sealed: Sealed): void;
}

/**
 * The one way to the data. Inside a unit, code awaits the repositories it hands `tx` to and nothing else: no I/O, no
 * timers, no user code.
 */
export interface Store {
  /** Makes the store ready, creating or migrating what is there. Called once, before anything else. */
  open(): Promise<void>;
  /** One atomic unit; resolves after its commit. A throw undoes the unit and rejects with what was thrown. */
  write<T>(work: (tx: WriteTx) => Promise<T>): Promise<T>;
  /** Sees one committed state, never a half-done write. */
  read<T>(work: (tx: ReadTx) => Promise<T>): Promise<T>;
  /** Calls `listener` after another connection has committed something. */
  onForeignCommit(listener: () => void): Disposable;
  close(): Promise<void>;
}
export const Store: Token<Store> = token('Store');
