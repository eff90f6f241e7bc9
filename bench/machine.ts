import { writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';

/** Where it was measured. */
export interface Machine {
  readonly node: string;
  readonly cpu: string;
  readonly cores: number;
  /** Load averages of the machine; high ones say that it did other work too. */
  readonly loadBefore: number;
  readonly loadAfter: number;
}

export function machineFacts(loadBefore: number): Machine {
  return {
    node: process.version,
    cpu: cpus()[0]?.model ?? '',
    cores: cpus().length,
    loadBefore,
    loadAfter: loadOfMinute(),
  };
}

/** The load average of the last minute. */
export function loadOfMinute(): number {
  return Math.round((loadavg()[0] ?? 0) * 10) / 10;
}

/** Writes results to a file of bench/. Lists of numbers are on one line, as the formatter has them. */
export function writeResults(file: string, results: object): void {
  const json = JSON.stringify(results, null, 2);
  const text = json.replace(/\[\s+([\d.,\s]+?)\s+\]/g, (_, list: string) => `[${list.replace(/\s+/g, ' ')}]`);
  writeFileSync(new URL(file, import.meta.url), `${text}\n`);
}
