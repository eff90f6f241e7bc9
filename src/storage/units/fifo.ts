const compactAt = 1_024;

/** A queue whose cost does not depend on its length: shift() of an array moves every element that is left. */
export class Fifo<T> {
  private items: T[] = [];
  private first = 0;

  get length(): number {
    return this.items.length - this.first;
  }

  get head(): T | undefined {
    return this.items[this.first];
  }

  push(item: T): void {
    this.items.push(item);
  }

  shift(): T | undefined {
    const item = this.items[this.first];
    if (this.length > 0) this.first++;
    if (this.first >= compactAt && this.first >= this.length) this.compact();
    return item;
  }

  /** Removes and returns the selected items; the others keep their order. */
  remove(isSelected: (item: T) => boolean): T[] {
    this.compact();
    const removed = this.items.filter(isSelected);
    if (removed.length > 0) this.items = this.items.filter((item) => !isSelected(item));
    return removed;
  }

  private compact(): void {
    this.items = this.items.slice(this.first);
    this.first = 0;
  }
}
