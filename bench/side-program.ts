import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BenchDatabase } from './postgres-server.js';

export type Durability = 'full' | 'normal';

/** What a program is started with, beside a temporary folder of its own. */
export interface SideSetting {
  readonly durability: Durability;
  /** Where it is not the folder that the data are in. */
  readonly database?: BenchDatabase;
  /** The schema of the database that is its own. */
  readonly schema?: string;
  /** The schema in which a replay finds what it is to write. */
  readonly source?: string;
}

export interface RoundRequest {
  readonly workload: string;
  readonly callers: number;
  /** How long callers go on starting operations. A replay has a fixed number of operations instead. */
  readonly durationMs: number;
  /** For a replay: the number of the newest operations of another side that it writes again. */
  readonly operations?: number;
}

export interface Round {
  readonly operations: number;
  readonly elapsedMs: number;
  readonly cpuUs: number;
}

/** One side of a comparison: a program of its own, so that heaps and CPU times are apart. It rests between its rounds. */
export class SideProgram {
  private constructor(
    private readonly child: ChildProcess,
    private readonly folder: string,
    readonly facts: Readonly<Record<string, unknown>>,
  ) {}

  /** Starts the program `file` of bench/, in a temporary folder; resolves when it is ready. */
  static async start(file: string, setting: SideSetting): Promise<SideProgram> {
    const folder = mkdtempSync(join(tmpdir(), 'procura-side-'));
    const program = fileURLToPath(new URL(file, import.meta.url));
    // Without the loader of TypeScript, which this program runs with and the sides do not need.
    const child = fork(program, [JSON.stringify({ folder, ...setting })], {
      execArgv: ['--no-deprecation'],
      env: { ...process.env, NODE_ENV: 'production' },
    });
    try {
      const { facts } = (await nextMessage(child)) as { facts: Record<string, unknown> };
      return new SideProgram(child, folder, facts);
    } catch (error) {
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
  }

  async run(request: RoundRequest): Promise<Round> {
    const answer = nextMessage(this.child);
    this.child.send(request);
    return (await answer) as Round;
  }

  async close(): Promise<void> {
    if (this.child.connected) {
      const ended = new Promise((resolve) => this.child.once('exit', resolve));
      this.child.disconnect();
      await ended;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function nextMessage(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null) =>
      reject(new Error(`${child.spawnargs.find((arg) => arg.endsWith('.mjs'))} ended with code ${code}.`));
    child.once('exit', ended);
    child.once('message', (message) => {
      child.off('exit', ended);
      resolve(message);
    });
  });
}
