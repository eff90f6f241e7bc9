const compactAt = 1_024;

/** First in, first out, at the same cost however many wait: an array's own shift moves every element that is left. */
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

  /** Takes out the items that are selected; the others keep their order. */
  takeOut(isSelected: (item: T) => boolean): T[] {
    this.compact();
    const taken = this.items.filter(isSelected);
    if (taken.length > 0) this.items = this.items.filter((item) => !isSelected(item));
    return taken;
  }

  private compact(): void {
    this.items = this.items.slice(this.first);
    this.first = 0;
  }
}
