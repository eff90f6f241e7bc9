import type { ProcessRow } from './process.js';

export interface TimeLimits {
  readonly deadlineMs: number | null;
  readonly wallMs: number | undefined;
}

/** The earliest of a process's own limits, which count from its birth, and the deadline of the one it was born under. */
export function earliestDeadline(
  bornAt: number,
  { deadlineMs, wallMs }: TimeLimits,
  above: Pick<ProcessRow, 'deadlineAt'> | null,
): number | null {
  const own = [deadlineMs, wallMs].flatMap((ms) => (ms === null || ms === undefined ? [] : [bornAt + ms]));
  const all = above === null || above.deadlineAt === null ? own : [...own, above.deadlineAt];
  return all.length === 0 ? null : Math.min(...all);
}
