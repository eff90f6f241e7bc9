import { dependencyVersion, installPeers, peerVersions } from './installed-peers.js';
import { loadOfMinute, machineFacts, writeResults } from './machine.js';
import type { Comparison, PeerResults, StatementCounts } from './peer-results.js';
import { type BenchServer, startBenchServer } from './postgres-server.js';
import { measureInTurns } from './rounds.js';
import { type Durability, SideProgram } from './side-program.js';

interface Group {
  readonly durability: Durability;
  readonly sides: Readonly<Record<string, string>>;
}

interface GroupResults {
  readonly comparisons: readonly Comparison[];
  readonly counts: Readonly<Record<string, StatementCounts>>;
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

/** Procura on SQLite beside its peers; writes bench/peers-results.json, from which docs/benchmarks.md has its tables. */
export async function comparePeers(): Promise<PeerResults> {
  installPeers();
  const loadBefore = loadOfMinute();
  const server = await startBenchServer();
  try {
    const measured: GroupResults[] = [];
    for (const group of groups) measured.push(await compareGroup(group, server));
    const results: PeerResults = {
      machine: machineFacts(loadBefore),
      versions: {
        ...peerVersions('@langchain/langgraph', '@langchain/langgraph-checkpoint-sqlite', '@dbos-inc/dbos-sdk'),
        ...dependencyVersion('better-sqlite3'),
        PostgreSQL: server.version,
      },
      rounds,
      durationMs,
      counts: Object.assign({}, ...measured.map((group) => group.counts)),
      comparisons: measured.flatMap((group) => group.comparisons),
    };
    writeResults('peers-results.json', results);
    return results;
  } finally {
    await server.stop();
  }
}

async function compareGroup({ durability, sides }: Group, server: BenchServer): Promise<GroupResults> {
  const programs = new Map<string, SideProgram>();
  try {
    for (const [name, file] of Object.entries(sides)) {
      const database = name === 'dbos' ? { database: await server.createDatabase('dbos') } : {};
      programs.set(name, await SideProgram.start(file, { durability, ...database }));
    }
    const comparisons: Comparison[] = [];
    for (const workload of workloads) {
      // Only the writes of parents and children are recorded.
      const taking = new Map([...programs].filter(([name]) => name !== 'raw' || workload === 'parent-child'));
      for (const callers of callerCounts) {
        const measured = await measureInTurns(taking, rounds, { workload, callers, durationMs });
        comparisons.push({ durability, workload, callers, sides: measured });
        console.error(`peers: ${workload}, ${durability}, ${callers} callers`);
      }
    }
    return {
      comparisons,
      counts: Object.assign({}, ...[...programs].map(([name, { facts }]) => countsOf(name, facts))),
    };
  } finally {
    for (const program of programs.values()) await program.close();
  }
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
