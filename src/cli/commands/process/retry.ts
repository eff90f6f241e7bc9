import { type CommonOptions, withWritableStore } from '../../open-store.js';
import { writeJson, writeLine } from '../../output.js';
import { findPid, fullName } from '../../pids.js';
import { safeText } from '../../safe-text.js';

interface RetryCommandOptions extends CommonOptions {
  readonly version?: string;
}

/** Has a process that waits for code run again over its journal. A kernel that has its image claims it. */
export async function retry(pidOrSuffix: string, options: RetryCommandOptions): Promise<void> {
  await withWritableStore(
    options,
    (kernel) => findPid(kernel, pidOrSuffix),
    async ({ processes }, pid) => {
      const { version } = options;
      await processes.retry(pid, version === undefined ? {} : { version });
      const { status, image } = await processes.get(pid);
      if (options.json === true) return writeJson({ pid, status, image });
      await writeLine(`${fullName(pid)} is ${status} again, as ${safeText(image)}`);
    },
  );
}
