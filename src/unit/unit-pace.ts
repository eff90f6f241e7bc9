import { performance } from 'node:perf_hooks';

/** Other callers wait for a unit, so that none should take much longer. */
const targetMs = 10;
/** The first unit takes this share of the largest one, until it is known how fast the machine is. */
const firstShare = 0.25;
const shareMin = 0.02;
/** A unit that took too long makes the next one smaller at once; growth is slow, because one fast unit proves little. */
const [shrinkMax, growMax] = [0.1, 1.25];

/**
 * The size of the units in which long work is committed: each as large as takes about 10 ms, by the time that the last one
 * took. A slow or busy machine takes smaller units.
 */
export class UnitPace {
  private share = firstShare;

  /** The part of `max` that the next unit takes; at least 1. */
  partOf(max: number): number {
    return Math.max(1, Math.floor(max * this.share));
  }

  /** Runs a unit. It calls `begin` first of all in its transaction: the wait for other callers does not count. */
  async measure<T>(unit: (begin: () => void) => Promise<T>): Promise<T> {
    let startedAt: number | undefined;
    const result = await unit(() => {
      startedAt = performance.now();
    });
    if (startedAt !== undefined) this.adapt(performance.now() - startedAt);
    return result;
  }

  /** Adapts the size to the time that the last unit took. */
  adapt(tookMs: number): void {
    const factor = Math.min(growMax, Math.max(shrinkMax, targetMs / Math.max(tookMs, Number.EPSILON)));
    this.share = Math.min(1, Math.max(shareMin, this.share * factor));
  }
}
