import type { Parameters } from 'fast-check';

/** Parameters of a property, repeated from PROCURA_SEED where that is set; without it fast-check draws a seed and prints it when it fails. */
export function seeded<T>(parameters: Parameters<T>): Parameters<T> {
  const seed = process.env.PROCURA_SEED;
  return seed === undefined ? parameters : { ...parameters, seed: Number(seed) };
}
