import { type CommonOptions, withWritableStore } from '../../open-store.js';
import { writeJson, writeLine } from '../../output.js';

interface PruneOptions extends CommonOptions {
  /** In epoch milliseconds. */
  readonly endedBefore?: number;
  readonly compact?: boolean;
}

/** Removes ended processes with everything that hangs on them, and gives the room back. */
export async function prune(options: PruneOptions): Promise<void> {
  const { endedBefore = 0, compact = false } = options;
  await withWritableStore(
    options,
    async () => undefined,
    async ({ processes }) => {
      const report = await processes.prune({ endedBefore, ...(compact ? { compact } : {}) });
      if (options.json === true) return writeJson(report);
      await writeLine(`${report.pruned} processes pruned${compact ? ', the file compacted' : ''}.`);
    },
  );
}
