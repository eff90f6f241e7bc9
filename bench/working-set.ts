import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startBenchServer } from './postgres-server.js';
import { inTempFolder } from './support.js';

export interface WorkingSetSize {
  readonly engine: 'SQLite' | 'PostgreSQL';
  /** Processes that were spawned and have not ended. */
  readonly live: number;
  /**
   * The most that the heap grew by while they were spawned, after collecting garbage: the working set of the store, with
   * everything else that the kernel keeps of them.
   */
  readonly bytes: number;
}

/** The memory of a kernel that has spawned `count` live processes, on each engine, in programs of their own. */
export function workingSetSizes(count: number): Promise<WorkingSetSize[]> {
  return inTempFolder(async (folder) => {
    const server = await startBenchServer();
    try {
      const { url } = await server.createDatabase('working_set');
      return [
        { engine: 'SQLite', ...(await measure(join(folder, 'working-set.db'), folder, count)) },
        { engine: 'PostgreSQL', ...(await measure(url, folder, count)) },
      ];
    } finally {
      await server.stop();
    }
  });
}

async function measure(store: string, folder: string, count: number): Promise<Omit<WorkingSetSize, 'engine'>> {
  const program = fileURLToPath(new URL('sides/working-set-size.mjs', import.meta.url));
  const args = ['--expose-gc', program, store, join(folder, 'state'), String(count)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout) as Omit<WorkingSetSize, 'engine'>;
}
