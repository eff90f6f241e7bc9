const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
] as const;

/** The time since `fromMs` in one unit: `3d`, `5h`, `12m` or `40s`. */
export function formatAge(fromMs: number, nowMs = Date.now()): string {
  const ms = Math.max(0, nowMs - fromMs);
  for (const [unit, size] of units) if (ms >= size) return `${Math.floor(ms / size)}${unit}`;
  return `${Math.floor(ms / 1_000)}s`;
}

export function formatTime(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString();
}

/** `in 12m`, `expired`, or `-` where there is no end. */
export function formatTimeLeft(untilMs: number | undefined, nowMs = Date.now()): string {
  if (untilMs === undefined) return '-';
  return untilMs <= nowMs ? 'expired' : `in ${formatAge(nowMs, untilMs)}`;
}

/** The milliseconds of `30s`, `10m`, `2h` or `7d`; undefined for any other text. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit] = /^([1-9]\d{0,5})([smhd])$/.exec(text) ?? [];
  if (count === undefined) return undefined;
  return Number(count) * (units.find(([name]) => name === unit)?.[1] ?? 1_000);
}
