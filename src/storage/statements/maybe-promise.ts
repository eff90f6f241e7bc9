/** The answer of a store: SQLite answers at once, PostgreSQL after a round trip. To be awaited. */
export type MaybePromise<T> = T | Promise<T>;

/** Applies `next` to a value when it is there: at once, where it is there already. */
export function mapAnswer<T, R>(value: MaybePromise<T>, next: (value: T) => R): MaybePromise<Awaited<R>> {
  return (value instanceof Promise ? value.then(next) : next(value)) as MaybePromise<Awaited<R>>;
}
