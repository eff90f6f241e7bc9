import { dependencyVersion, installPeers, peerVersions } from './installed-peers.js';
import { loadOfMinute, machineFacts, writeResults } from './machine.js';
import type { Comparison } from './peer-results.js';
import type { NodeSum, PostgresResults } from './postgres-results.js';
import { type BenchDatabase, startBenchServer } from './postgres-server.js';
import { measureInTurns } from './rounds.js';
import { SideProgram, type SideSetting } from './side-program.js';

const rounds = 7;
const durationMs = 1_500;

const spawnCallers = [1, 8, 32, 128] as const;
const lifeCallers = [1, 32] as const;
const nodeCounts = [1, 3, 8] as const;
const nodeCallers = [1, 16, 128] as const;

/**
 * Procura on one PostgreSQL server: beside raw pg, beside DBOS, and as several nodes. Writes bench/postgres-results.json, from which
 * docs/benchmarks.md and docs/scaling.md have their tables.
 */
export async function measurePostgres(): Promise<PostgresResults> {
  installPeers();
  const loadBefore = loadOfMinute();
  const server = await startBenchServer();
  try {
    const [bench, dbos] = [await server.createDatabase('bench'), await server.createDatabase('dbos')];
    const comparisons = await compareSides(bench, dbos);
    const sums = await sumNodes(bench);
    const results: PostgresResults = {
      machine: machineFacts(loadBefore),
      versions: {
        ...dependencyVersion('pg'),
        ...peerVersions('@dbos-inc/dbos-sdk'),
        PostgreSQL: server.version,
      },
      rounds,
      durationMs,
      comparisons,
      sums,
    };
    writeResults('postgres-results.json', results);
    return results;
  } finally {
    await server.stop();
  }
}

async function compareSides(bench: BenchDatabase, dbos: BenchDatabase): Promise<Comparison[]> {
  return withPrograms(async (start) => {
    const procura = await start('sides/procura.mjs', { database: bench, schema: 'procura' });
    const raw = await start('sides/raw-postgres.mjs', { database: bench, schema: 'raw', source: 'procura' });
    const peer = await start('peers/dbos.mjs', { database: dbos });
    const measured: Comparison[] = [];
    const compare = async (
      workload: Comparison['workload'],
      callers: number,
      sides: Readonly<Record<string, SideProgram>>,
    ) => {
      const request = { workload, callers, durationMs };
      const rates = await measureInTurns(new Map(Object.entries(sides)), rounds, request);
      measured.push({ durability: 'full', workload, callers, sides: rates });
      console.error(`postgres: ${workload}, ${callers} callers`);
    };
    for (const callers of spawnCallers) await compare('spawn', callers, { procura, pg: raw });
    for (const callers of lifeCallers) await compare('parent-child', callers, { procura, dbos: peer });
    return measured;
  });
}

/** What several nodes on one schema do together. Nodes of the other sums are open and idle meanwhile, in schemas of their own. */
async function sumNodes(database: BenchDatabase): Promise<NodeSum[]> {
  return withPrograms(async (start) => {
    const groups = new Map<number, SideProgram[]>();
    for (const nodes of nodeCounts) {
      const setting = { database, schema: `nodes_${nodes}` };
      const programs: SideProgram[] = [];
      while (programs.length < nodes) programs.push(await start('sides/procura.mjs', setting));
      groups.set(nodes, programs);
    }
    const sums: NodeSum[] = [];
    for (const callers of nodeCallers) {
      const measured = new Map<number, number[]>(nodeCounts.map((nodes) => [nodes, []]));
      for (let round = 0; round <= rounds; round++) {
        for (const [nodes, programs] of groups) {
          const perSecond = await rateOfAll(programs, callers);
          if (round > 0) measured.get(nodes)?.push(perSecond);
        }
      }
      for (const [nodes, perSecond] of measured) sums.push({ nodes, callers, perSecond });
      console.error(`postgres: several nodes, ${callers} callers each`);
    }
    return sums;
  });
}

async function rateOfAll(programs: readonly SideProgram[], callers: number): Promise<number> {
  const rounds = await Promise.all(programs.map((program) => program.run({ workload: 'spawn', callers, durationMs })));
  const perSecond = rounds.map(({ operations, elapsedMs }) => (operations / elapsedMs) * 1_000);
  return Math.round(perSecond.reduce((sum, each) => sum + each, 0));
}

type Start = (file: string, setting: Omit<SideSetting, 'durability'>) => Promise<SideProgram>;

/** Runs `work`, and ends the programs that it has started. */
async function withPrograms<T>(work: (start: Start) => Promise<T>): Promise<T> {
  const programs: SideProgram[] = [];
  try {
    return await work(async (file, setting) => {
      const program = await SideProgram.start(file, { durability: 'full', ...setting });
      programs.push(program);
      return program;
    });
  } finally {
    await Promise.all(programs.map((program) => program.close()));
  }
}
