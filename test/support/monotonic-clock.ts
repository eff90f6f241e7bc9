import { onTestFinished, vi } from 'vitest';

/** The clock that measures durations goes on, and can be set forward until the end of the test. */
export function movableMonotonicClock(): { advance(ms: number): void } {
  let aheadMs = 0;
  const real = performance.now.bind(performance);
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => real() + aheadMs);
  onTestFinished(() => void clock.mockRestore());
  return {
    advance: (ms) => {
      aheadMs += ms;
    },
  };
}
