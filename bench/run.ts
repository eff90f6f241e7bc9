import { writeFileSync } from 'node:fs';
import Table from 'cli-table3';
import { checkTimes } from './capability-check.js';
import { commandRates } from './command.js';
import { bytesPerProcess, cancelMs, firstSpawnMs, streamMs, verifyRate } from './figures.js';
import { forkRates } from './fork-size.js';
import { bytesPerWaiting, lifeRate } from './life.js';
import {
  type Comparison,
  countsTable,
  ratesTable,
  ratiosOf,
  settingText,
  sideNames,
  workloadNames,
} from './peer-results.js';
import { comparePeers } from './peers.js';
import { measurePostgres } from './postgres.js';
import { sumsTable } from './postgres-results.js';
import { revocationStalls } from './revocation.js';
import { spawnRates } from './spawn-child.js';
import { flatRates } from './table-size.js';
import { workingSetSizes } from './working-set.js';

interface Figure {
  readonly what: string;
  readonly measured: string;
  /** What it has to reach; some figures are only told. */
  readonly reach?: string;
  readonly reached?: boolean;
}

const figures: Figure[] = [];
const figure = (what: string, measured: string, ...goal: [] | [reach: string, reached: boolean]) => {
  const [reach, reached] = goal;
  figures.push({ what, measured, ...(reach === undefined ? {} : { reach, reached: reached === true }) });
  console.error(`${what}: ${measured}`);
};
const perSecond = (value: number) => `${Math.round(value).toLocaleString('en')}/s`;
const rounded = (value: number) => value.toLocaleString('en', { maximumSignificantDigits: 3 });

/** The speed of Procura against the other sides, with what it has to reach at the least. */
function tellRatios(
  comparisons: readonly Comparison[],
  goalOf: (side: string, callers: number) => number | undefined,
): void {
  for (const comparison of comparisons) {
    const { workload, durability, callers, sides } = comparison;
    for (const other of Object.keys(sides).filter((name) => name !== 'procura')) {
      const { median: times, min, max } = ratiosOf(comparison, other);
      const byCallers = callers === 1 ? 'one caller' : `${callers} callers`;
      const what = `${workloadNames[workload]}, ${byCallers}, ${durability}, against ${sideNames[other] ?? other}`;
      const measured = `${times.toFixed(2)}× (${min.toFixed(2)} to ${max.toFixed(2)})`;
      const least = goalOf(other, callers);
      if (least === undefined) figure(what, measured);
      else figure(what, measured, `≥ ${least}×`, times >= least);
    }
  }
}

/** By the number of callers, how fast Procura has to be against the raw replay of its writes and against a peer. */
const peerGoals: Readonly<Record<'raw' | 'peer', Readonly<Record<number, number>>>> = {
  raw: { 32: 0.3 },
  peer: { 1: 2, 32: 4 },
};

/** The parts, which can also be run alone: `npm run bench -- check revoke`. */
const parts: Readonly<Record<string, () => Promise<void>>> = {
  // First, on an empty heap, because it is bound by memory.
  async check() {
    const { kernel, casbin, casl } = await checkTimes(10, 100_000);
    for (const verdict of ['allowed', 'denied'] as const) {
      const what = `check, ${verdict}, 100,000 held`;
      const { fewUs, manyUs, ratio } = kernel[verdict];
      const againstFew = `${rounded(ratio)}× (${rounded(manyUs)} µs against ${rounded(fewUs)} µs)`;
      figure(`${what}, against 10 held`, againstFew, '≥ 0.5×', ratio >= 0.5);
      figure(`${what}, median`, `${rounded(manyUs)} µs (${rounded(1e6 / manyUs)}/s)`, '≤ 5 µs', manyUs <= 5);
      for (const [name, theirs] of [
        ['casbin', casbin[verdict]],
        ['CASL with conditions', casl[verdict]],
      ] as const) {
        const speeds = `${rounded(1e6 / theirs.manyUs)}/s; with 10: ${rounded(1e6 / theirs.fewUs)}/s`;
        const times = theirs.manyUs / manyUs;
        figure(`${what}, against ${name}`, `${rounded(times)}× (against ${speeds})`, '≥ 1,000×', times >= 1_000);
      }
    }
  },

  async spawn() {
    for (const [callers, spawns, durability] of [
      [64, 3_000, 'full'],
      [64, 3_000, 'normal'],
      [1, 500, 'full'],
    ] as const) {
      const { kernel, raw, ratio } = await spawnRates(callers, spawns, durability);
      const measured = `${ratio.toFixed(2)}× (${perSecond(kernel)} against ${perSecond(raw)})`;
      const what = `spawnChild, ${callers} callers, ${durability}, against raw better-sqlite3`;
      figure(what, measured, '≥ 0.6×', ratio >= 0.6);
    }
  },

  async life() {
    const lives = await lifeRate(32, 1_000);
    figure('whole life of a child, 32 callers, full', perSecond(lives));
    const bytes = await bytesPerWaiting(10_000);
    figure('memory per process that waits, of 10,000', `${Math.round(bytes)} B`, '< 10,240 B', bytes < 10_240);
  },

  async 'working-set'() {
    for (const { engine, live, bytes } of await workingSetSizes(100_000)) {
      const mebibytes = bytes / 2 ** 20;
      const what = `heap that ${live.toLocaleString('en')} live processes take, ${engine}`;
      figure(what, `${mebibytes.toFixed(1)} MiB`, '≤ 64 MiB', mebibytes <= 64);
    }
  },

  // Installs the peers, where that was not done yet. Its tables are those of docs/benchmarks.md.
  async peers() {
    const results = await comparePeers();
    const lives = results.comparisons.filter(({ workload }) => workload === 'parent-child');
    tellRatios(lives, (side, callers) => peerGoals[side === 'raw' ? 'raw' : 'peer'][callers]);
    const { statements, commits } = results.counts.procura ?? { statements: Number.NaN, commits: Number.NaN };
    figure('statements of a parent and its child, one caller', rounded(statements), '≤ 60', statements <= 60);
    figure('commits of a parent and its child, one caller', rounded(commits), '≤ 4', commits <= 4);
    console.log([settingText(results), ratesTable(results), countsTable(results)].join('\n\n'));
  },

  // Installs the peers, too. Its tables are those of docs/benchmarks.md and docs/scaling.md.
  async postgres() {
    const results = await measurePostgres();
    tellRatios(results.comparisons, (side, callers) => (side === 'pg' ? 0.5 : callers === 32 ? 3 : undefined));
    console.log([settingText(results), ratesTable(results), sumsTable(results)].join('\n\n'));
  },

  async command() {
    for (const [callers, runs] of [
      [1, 100],
      [8, 400],
    ] as const) {
      const { kernel, bare, ratio } = await commandRates(callers, runs);
      const measured = `${ratio.toFixed(2)}× (${perSecond(kernel)} against ${perSecond(bare)})`;
      figure(`true as a command, ${callers} callers, full, against a bare spawn`, measured, '≥ 0.5×', ratio >= 0.5);
    }
  },

  async size() {
    const flat = await flatRates(100, 100_000);
    const pages = flat.pagesLarge / flat.pagesSmall;
    const flatMeasured = `${flat.ratio.toFixed(2)}× (${perSecond(flat.large)} against ${perSecond(flat.small)})`;
    figure('spawnChild with 100,000 processes against 100', flatMeasured, '≥ 0.9×', flat.ratio >= 0.9);
    const pagesMeasured = `${pages.toFixed(3)}× (${flat.pagesLarge.toFixed(1)} against ${flat.pagesSmall.toFixed(1)})`;
    figure('WAL pages of those spawns', pagesMeasured, 'within 5 %', Math.abs(pages - 1) <= 0.05);
    figure('opening 100,000 processes, 1,000 live', `${Math.round(flat.openMs)} ms`, '< 2,000 ms', flat.openMs < 2_000);
  },

  async fork() {
    const { small, large, ratio, pagesSmall, pagesLarge } = await forkRates(10, 100_000);
    const measured = `${ratio.toFixed(2)}× (${perSecond(large)} against ${perSecond(small)})`;
    figure('fork of a view with 100,000 objects against 10', measured, '≥ 0.8×', ratio >= 0.8);
    const pages = pagesLarge / pagesSmall;
    const pagesMeasured = `${pages.toFixed(3)}× (${pagesLarge.toFixed(1)} against ${pagesSmall.toFixed(1)})`;
    figure('WAL pages of those forks', pagesMeasured, 'within 5 %', Math.abs(pages - 1) <= 0.05);
  },

  async cancel() {
    const cancel = await cancelMs(10_000);
    figure('cancel of a 10,000-process tree', `${Math.round(cancel)} ms`, '< 1,000 ms', cancel < 1_000);
  },

  async verify() {
    const verified = await verifyRate(50_000);
    figure('audit verify', perSecond(verified), '≥ 100,000/s', verified >= 100_000);
  },

  async stream() {
    const delivery = await streamMs(300);
    figure('commit to stream delivery, median', `${delivery.toFixed(2)} ms`, '< 1 ms', delivery < 1);
  },

  async bytes() {
    const bytes = await bytesPerProcess(3_000);
    figure('database bytes per finished process', `${Math.round(bytes)}`, '< 4,096', bytes < 4_096);
  },

  async first() {
    const first = await firstSpawnMs();
    figure('import to first spawn on a new file', `${Math.round(first)} ms`, '< 1,000 ms', first < 1_000);
  },

  async revoke() {
    for (const durability of ['full', 'normal'] as const) {
      const { duringMs, withoutMs } = await revocationStalls(25_000, durability);
      const measured = `${Math.round(duringMs)} ms (${Math.round(withoutMs)} ms without)`;
      const what = `revoke of 25,000 derived, ${durability}: longest stall of other callers`;
      figure(what, measured, '< 50 ms', duringMs < 50);
    }
  },
};

const requestedParts = process.argv.slice(2);
const unknownParts = requestedParts.filter((name) => !Object.hasOwn(parts, name));
if (unknownParts.length > 0)
  throw new Error(`No part ${unknownParts.join(', ')}; there are ${Object.keys(parts).join(', ')}.`);
for (const [name, measure] of Object.entries(parts)) {
  if (requestedParts.length === 0 || requestedParts.includes(name)) await measure();
}

const table = new Table({ head: ['operation', 'measured', 'to reach', ''] });
for (const { what, measured, reach = '', reached } of figures) {
  table.push([what, measured, reach, reached === undefined ? '' : reached ? 'yes' : 'NO']);
}
console.log(table.toString());
if (requestedParts.length === 0) {
  writeFileSync(
    new URL('results.json', import.meta.url),
    `${JSON.stringify({ node: process.version, figures }, null, 2)}\n`,
  );
}
