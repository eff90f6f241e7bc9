/*
 * How fast the built package starts: the time and the memory of `import 'procura'`, and the time of `procura ps`. With the
 * dist folder of another build, both are measured in turn, so that they meet the same machine.
 *
 *   npm run bench:start [-- OTHER_DIST]
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath, pathToFileURL } from 'node:url';
import Table from 'cli-table3';

const rounds = 15;
const limits = { importMs: 250, rssMb: 70, psMs: 400 };

interface Start {
  readonly importMs: number;
  readonly rssMb: number;
  readonly psMs: number;
}

const builds = [fileURLToPath(new URL('../dist', import.meta.url)), ...process.argv.slice(2)].map((dist) =>
  path.resolve(dist),
);
const folder = mkdtempSync(path.join(tmpdir(), 'procura-start-'));
try {
  const starts = new Map<string, Start[]>(builds.map((dist) => [dist, []]));
  for (const dist of builds) createStore(dist);
  for (let round = 0; round < rounds; round++) for (const dist of builds) starts.get(dist)?.push(measure(dist));
  const table = new Table({ head: ['build', 'import', 'memory after it', 'procura ps'] });
  for (const [dist, measured] of starts) {
    const of = (figure: keyof Start) => Math.round(median(measured.map((start) => start[figure])));
    table.push([dist, `${of('importMs')} ms`, `${of('rssMb')} MB`, `${of('psMs')} ms`]);
  }
  table.push(['to reach', `${limits.importMs} ms`, `${limits.rssMb} MB`, `${limits.psMs} ms`]);
  console.log(table.toString());
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function measure(dist: string): Start {
  const begin = performance.now();
  run([path.join(dist, 'cli/main.js'), 'ps', '--store', storeOf(dist)]);
  const psMs = performance.now() - begin;
  const [importMs = 0, rss = 0] = JSON.parse(
    evaluate(`
      const begin = performance.now();
      await import(${library(dist)});
      console.log(JSON.stringify([performance.now() - begin, process.memoryUsage.rss()]));
    `),
  ) as number[];
  return { importMs, rssMb: rss / 2 ** 20, psMs };
}

function createStore(dist: string): void {
  evaluate(`
    const { createKernel } = await import(${library(dist)});
    const kernel = await createKernel({ store: ${JSON.stringify(storeOf(dist))}, workspace: ${JSON.stringify(tmpdir())}, logger: 'silent' });
    for (let count = 0; count < 10; count++) await kernel.processes.spawn({ name: 'process-' + count });
    await kernel.shutdown();
  `);
}

function storeOf(dist: string): string {
  return path.join(folder, `${builds.indexOf(dist)}.db`);
}

function library(dist: string): string {
  return JSON.stringify(pathToFileURL(path.join(dist, 'index.js')).href);
}

function evaluate(source: string): string {
  return run(['--input-type=module', '--eval', source]);
}

function run(args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`node ${args[0]} failed:\n${stderr}`);
  return stdout;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
