import { type IdKind, type IdSource, idPrefixes } from '../index.js';

/** Gives ids that were reserved first, and numbers otherwise. */
export class RecordedIds implements IdSource {
  private readonly reserved = new Map<IdKind, string[]>();
  private count = 0;

  /** The next id of this kind will be `id`. */
  reserve(kind: IdKind, id: string): void {
    this.reserved.set(kind, [id]);
  }

  next(kind: IdKind): string {
    const id = this.reserved.get(kind)?.pop();
    return id ?? `${idPrefixes[kind]}${String(++this.count).padStart(20, '0')}`;
  }
}
