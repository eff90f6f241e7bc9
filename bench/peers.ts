import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Comparison, PeerResults, SideRates, StatementCounts } from './peer-results.js';
import { type Durability, SideProgram } from './side-program.js';
import { median } from './support.js';

interface Group {
  readonly durability: Durability;
  readonly sides: Readonly<Record<string, string>>;
}

interface GroupResults {
  readonly comparisons: readonly Comparison[];
  readonly counts: Readonly<Record<string, StatementCounts>>;
  /** Versions of servers that the sides have started. */
  readonly servers: Readonly<Record<string, string>>;
}

const rounds = 7;
const durationMs = 1_500;

const workloads = ['parent-child', 'step'] as const;
const callerCounts = [1, 32] as const;

/** Each peer beside Procura and the raw replay with the durability that the peer has. */
const groups: readonly Group[] = [
  {
    durability: 'normal',
    sides: { procura: 'sides/procura.mjs', langgraph: 'peers/langgraph.mjs', raw: 'sides/raw.mjs' },
  },
  { durability: 'full', sides: { procura: 'sides/procura.mjs', dbos: 'peers/dbos.mjs', raw: 'sides/raw.mjs' } },
];

const folder = new URL('peers/', import.meta.url);

/** Procura beside its peers; writes bench/peers-results.json, from which docs/benchmarks.md has its tables. */
export async function comparePeers(): Promise<PeerResults> {
  installPeers();
  const loadBefore = load();
  const measured: GroupResults[] = [];
  for (const group of groups) measured.push(await compareGroup(group));
  const results: PeerResults = {
    machine: {
      node: process.version,
      cpu: cpus()[0]?.model ?? '',
      cores: cpus().length,
      loadBefore,
      loadAfter: load(),
    },
    versions: Object.assign(versions(), ...measured.map((group) => group.servers)),
    rounds,
    durationMs,
    counts: Object.assign({}, ...measured.map((group) => group.counts)),
    comparisons: measured.flatMap((group) => group.comparisons),
  };
  writeFileSync(new URL('peers-results.json', import.meta.url), toJson(results));
  return results;
}

/** Lists of numbers are on one line, as the formatter has them. */
function toJson(results: PeerResults): string {
  const json = JSON.stringify(results, null, 2);
  return `${json.replace(/\[\s+([\d.,\s]+?)\s+\]/g, (_, list: string) => `[${list.replace(/\s+/g, ' ')}]`)}\n`;
}

async function compareGroup({ durability, sides }: Group): Promise<GroupResults> {
  const programs = new Map<string, SideProgram>();
  try {
    for (const [name, file] of Object.entries(sides)) programs.set(name, await SideProgram.start(file, durability));
    const comparisons: Comparison[] = [];
    for (const workload of workloads) {
      for (const callers of callerCounts) {
        comparisons.push({ durability, workload, callers, sides: await measureInTurns(programs, workload, callers) });
        console.error(`peers: ${workload}, ${durability}, ${callers} callers`);
      }
    }
    const settings = programs.get('dbos')?.facts.settings as { server_version: string } | undefined;
    return {
      comparisons,
      counts: Object.assign({}, ...[...programs].map(([name, { facts }]) => countsOf(name, facts))),
      servers: settings === undefined ? {} : { PostgreSQL: settings.server_version },
    };
  } finally {
    for (const program of programs.values()) await program.close();
  }
}

/** Rounds of all sides in turn; the first one warms up and does not count. */
async function measureInTurns(
  programs: ReadonlyMap<string, SideProgram>,
  workload: (typeof workloads)[number],
  callers: number,
): Promise<Record<string, SideRates>> {
  const measured: Record<string, { perSecond: number[]; cpuUs: number[] }> = {};
  for (let round = 0; round <= rounds; round++) {
    for (const [name, program] of programs) {
      // Only the writes of parents and children are recorded.
      if (name === 'raw' && workload !== 'parent-child') continue;
      const { operations, elapsedMs, cpuUs } = await program.run({ workload, callers, durationMs });
      if (round === 0) continue;
      measured[name] ??= { perSecond: [], cpuUs: [] };
      measured[name].perSecond.push((operations / elapsedMs) * 1_000);
      measured[name].cpuUs.push(cpuUs / operations);
    }
  }
  return Object.fromEntries(
    Object.entries(measured).map(([name, { perSecond, cpuUs }]) => [
      name,
      { perSecond: perSecond.map(Math.round), cpuUs: Math.round(median(cpuUs)) },
    ]),
  );
}

/** The raw program counts for Procura, whose statements it records. */
function countsOf(name: string, facts: Readonly<Record<string, unknown>>): Record<string, StatementCounts> {
  if (facts.counts === undefined) return {};
  if (name !== 'raw') return { [name]: facts.counts as StatementCounts };
  const byCallers = facts.counts as Record<string, StatementCounts>;
  return Object.fromEntries(
    Object.entries(byCallers).map(([callers, each]) => [callers === '1' ? 'procura' : `procura, ${callers}`, each]),
  );
}

/** The load average of the last minute. */
function load(): number {
  return Math.round((loadavg()[0] ?? 0) * 10) / 10;
}

function installPeers(): void {
  // npm writes it when the installation is complete.
  if (existsSync(new URL('node_modules/.package-lock.json', folder))) return;
  const { status } = spawnSync('npm', ['ci', '--prefix', fileURLToPath(folder)], { stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new Error('The peers could not be installed: npm ci --prefix bench/peers failed.');
}

function versions(): Record<string, string> {
  const installed = (name: string, from = folder) =>
    (
      JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, from), 'utf8')) as {
        version: string;
      }
    ).version;
  return {
    '@langchain/langgraph': installed('@langchain/langgraph'),
    '@langchain/langgraph-checkpoint-sqlite': installed('@langchain/langgraph-checkpoint-sqlite'),
    '@dbos-inc/dbos-sdk': installed('@dbos-inc/dbos-sdk'),
    'better-sqlite3': installed('better-sqlite3', new URL('../', import.meta.url)),
  };
}
