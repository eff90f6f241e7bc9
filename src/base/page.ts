/** One page of a list; `next` is there when more may follow and is given back as `after`. */
export interface Page<T> {
  items: T[];
  next?: string;
}

export const pageLimitDefault = 100;
export const pageLimitMax = 10_000;
/** A filtered list looks at no more rows than this before it answers with `next`. */
export const scanRowsMax = 10_000;
