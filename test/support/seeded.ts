import type { Parameters } from 'fast-check';
import { isSqlite } from './store-kind.js';

/** Whether all runs of properties are made, and not only a share of them. */
export const isSweep = process.env.PROCURA_SWEEP_MS !== undefined;
/** How long a sweep may go on in one test, at least once. */
export const sweepMs = Number(process.env.PROCURA_SWEEP_MS ?? 0);
const share = 5;
/** PostgreSQL makes a part of the runs, which are the first of those on SQLite: each of its calls takes several times as long. */
const postgresShare = 4;

/**
 * Parameters of a repeatable property, with the seed of PROCURA_SEED or always the same. Another seed tries other inputs.
 */
export function seeded<T>(parameters: Parameters<T>): Parameters<T> {
  return { seed: Number(process.env.PROCURA_SEED ?? 1), ...parameters };
}

/** The number of runs out of `count`: all of them in a sweep. */
export function runsInSweep(count: number): number {
  return isSweep ? count : Math.ceil(count / share);
}

/** The number of runs of a property of a store out of `count`: all of them in a sweep and on SQLite. */
export function runsOnStore(count: number): number {
  return isSweep || isSqlite ? count : Math.ceil(count / postgresShare);
}
