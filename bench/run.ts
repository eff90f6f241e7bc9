import { writeFileSync } from 'node:fs';
import Table from 'cli-table3';
import { bytesPerProcess, cancelMs, firstSpawnMs, streamMs, verifyRate } from './figures.js';
import { spawnRates } from './spawn-child.js';
import { flatRates } from './table-size.js';

interface Figure {
  readonly what: string;
  readonly measured: string;
  readonly reach: string;
  readonly reached: boolean;
}

const figures: Figure[] = [];
const figure = (what: string, measured: string, reach: string, reached: boolean) => {
  figures.push({ what, measured, reach, reached });
  console.error(`${what}: ${measured}`);
};
const perSecond = (value: number) => `${Math.round(value).toLocaleString('en')}/s`;

for (const [callers, spawns, durability] of [
  [64, 3_000, 'full'],
  [64, 3_000, 'normal'],
  [1, 500, 'full'],
] as const) {
  const { kernel, raw, ratio } = await spawnRates(callers, spawns, durability);
  const measured = `${ratio.toFixed(2)}× (${perSecond(kernel)} against ${perSecond(raw)})`;
  figure(`spawnChild, ${callers} callers, ${durability}, against raw better-sqlite3`, measured, '≥ 0.6×', ratio >= 0.6);
}

const flat = await flatRates(100, 100_000);
const pages = flat.pagesLarge / flat.pagesSmall;
const flatMeasured = `${flat.ratio.toFixed(2)}× (${perSecond(flat.large)} against ${perSecond(flat.small)})`;
figure('spawnChild with 100,000 processes against 100', flatMeasured, '≥ 0.9×', flat.ratio >= 0.9);
const pagesMeasured = `${pages.toFixed(3)}× (${flat.pagesLarge.toFixed(1)} against ${flat.pagesSmall.toFixed(1)})`;
figure('WAL pages of those spawns', pagesMeasured, 'within 5 %', Math.abs(pages - 1) <= 0.05);
figure('opening 100,000 processes, 1,000 live', `${Math.round(flat.openMs)} ms`, '< 2,000 ms', flat.openMs < 2_000);

const cancel = await cancelMs(10_000);
figure('cancel of a 10,000-process tree', `${Math.round(cancel)} ms`, '< 1,000 ms', cancel < 1_000);
const verified = await verifyRate(50_000);
figure('audit verify', perSecond(verified), '≥ 100,000/s', verified >= 100_000);
const delivery = await streamMs(300);
figure('commit to stream delivery, median', `${delivery.toFixed(2)} ms`, '< 1 ms', delivery < 1);
const bytes = await bytesPerProcess(3_000);
figure('database bytes per finished process', `${Math.round(bytes)}`, '< 4,096', bytes < 4_096);
const first = await firstSpawnMs();
figure('import to first spawn on a new file', `${Math.round(first)} ms`, '< 1,000 ms', first < 1_000);

const table = new Table({ head: ['operation', 'measured', 'to reach', ''] });
for (const { what, measured, reach, reached } of figures) table.push([what, measured, reach, reached ? 'yes' : 'NO']);
console.log(table.toString());
writeFileSync(
  new URL('results.json', import.meta.url),
  `${JSON.stringify({ node: process.version, figures }, null, 2)}\n`,
);
