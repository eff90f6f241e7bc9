import type { RunEntry } from '../../kernel/process/run-entry-repository.js';
import { isMarkKey } from './call-tree.js';

/** The marks of a run, by their keys: those of its journal, and those that it has added. */
export class PatchMarks {
  /** The number of the first call that was answered with true. Absent without any, to save memory. */
  private since: Map<string, number> | undefined;
  private calls: Map<string, number> | undefined;

  constructor(entries: readonly RunEntry[]) {
    for (const { key, value } of entries) if (isMarkKey(key)) this.add(key, Number(value));
  }

  /** The number of this call among those that ask for the mark. */
  countCall(key: string): number {
    this.calls ??= new Map();
    const count = (this.calls.get(key) ?? 0) + 1;
    this.calls.set(key, count);
    return count;
  }

  find(key: string): number | undefined {
    return this.since?.get(key);
  }

  add(key: string, ordinal: number): void {
    this.since ??= new Map();
    this.since.set(key, ordinal);
  }

  /** Takes back a mark that could not be journalled. */
  remove(key: string): void {
    this.since?.delete(key);
  }
}
