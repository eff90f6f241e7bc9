/** A map that forgets what was used longest ago: each `age` drops what has not been used since the one before it. */
export class RecentMap<K, V> {
  private young = new Map<K, V>();
  private old = new Map<K, V>();

  /** The number of entries that were used since the last `age`. */
  get recentSize(): number {
    return this.young.size;
  }

  get(key: K): V | undefined {
    const value = this.young.get(key);
    if (value !== undefined || this.old.size === 0) return value;
    const aged = this.old.get(key);
    if (aged !== undefined) {
      this.old.delete(key);
      this.young.set(key, aged);
    }
    return aged;
  }

  set(key: K, value: V): void {
    this.young.set(key, value);
    if (this.old.size > 0) this.old.delete(key);
  }

  delete(key: K): void {
    this.young.delete(key);
    this.old.delete(key);
  }

  age(): void {
    this.old = this.young;
    this.young = new Map();
  }

  /** Cheap where there is nothing to forget: long work that changes rows directly calls it again and again. */
  clear(): void {
    if (this.young.size > 0) this.young.clear();
    if (this.old.size > 0) this.old.clear();
  }
}
