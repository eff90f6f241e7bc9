/** The item at a place that may lie beyond the end: generated numbers say which. */
export function pick<T>(items: readonly T[], place: number): T {
  return items[place % items.length] as T;
}
