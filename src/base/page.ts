/** One page of a list. When more items may follow, `next` is the value of `after` for the next page. */
export interface Page<T> {
  /** The items of this page. */
  items: T[];
  /** The cursor of the next page; absent on the last one. */
  next?: string;
}

export const pageLimitDefault = 100;
export const pageLimitMax = 10_000;
/** The most rows that a filtered list reads before it returns a page with `next`. */
export const scanRowsMax = 10_000;
