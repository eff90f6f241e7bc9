import type { KernelClock } from '../../base/clock.js';

const windowMs = 60_000;

/** Counts of one minute, for a summary at its end. */
export interface WindowContent {
  /** The beginning of the minute. */
  readonly from: number;
}

/**
 * The current minute of something that is counted. The minute begins with the first use, and ends by a timer, by the clock of
 * the kernel, on request, or at shutdown; then `summarize` records what was counted.
 */
export class MinuteWindow<T extends WindowContent> {
  private content: T | undefined;
  private timer: NodeJS.Timeout | undefined;
  private summaries: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly clock: KernelClock,
    private readonly begin: (from: number) => T,
    /** Must not reject. */
    private readonly summarize: (content: T) => Promise<unknown>,
  ) {}

  /** The content of the current minute. */
  current(): T {
    const now = this.clock.peek();
    if (this.content !== undefined && now - this.content.from >= windowMs) this.end();
    if (this.content === undefined) {
      this.content = this.begin(now);
      this.timer = setTimeout(() => this.end(), windowMs).unref();
    }
    return this.content;
  }

  /** Ends the minute; the next use begins another one. */
  end(): void {
    clearTimeout(this.timer);
    const { content } = this;
    this.content = undefined;
    if (content !== undefined) this.summaries = Promise.all([this.summaries, this.summarize(content)]);
  }

  /** Ends the minute, and resolves when all summaries are recorded. */
  async close(): Promise<void> {
    this.end();
    await this.summaries;
  }
}
