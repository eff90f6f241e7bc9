/** The item at a generated index, which may be beyond the end. */
export function pick<T>(items: readonly T[], index: number): T {
  return items[index % items.length] as T;
}
