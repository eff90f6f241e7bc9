import type { Parameters } from 'fast-check';

/** A sweep tries everything; a run of all tests a part of it. */
export const isSweep = process.env.PROCURA_SWEEP_MS !== undefined;
const share = 5;

/**
 * Parameters of a property that is repeatable: from PROCURA_SEED, or always the same. Another number there tries what
 * nobody has seen.
 */
export function seeded<T>(parameters: Parameters<T>): Parameters<T> {
  return { seed: Number(process.env.PROCURA_SEED ?? 1), ...parameters };
}

/** How many runs of `count` are made now: all of them in a sweep. */
export function runsInSweep(count: number): number {
  return isSweep ? count : Math.ceil(count / share);
}
