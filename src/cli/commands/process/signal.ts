import type { SignalName, SignalReport } from '../../../index.js';
import { type CommonOptions, writing } from '../../open-store.js';
import { writeJson, writeLine } from '../../output.js';
import { findPid, fullName } from '../../pids.js';
import { safeText } from '../../safe-text.js';

interface SignalCommandOptions extends CommonOptions {
  readonly reason?: string;
}

/** Sends one signal and says whom it reached. The kernel that runs a process acts when it reads the event. */
export async function signal(given: string, name: string, options: SignalCommandOptions): Promise<void> {
  await writing(
    options,
    (kernel) => findPid(kernel, given),
    async ({ processes }, pid) => {
      const { reason } = options;
      // The kernel itself says which names are signals.
      const report = await processes.signal(pid, name as SignalName, reason === undefined ? {} : { reason });
      if (options.json === true) return writeJson(report);
      for (const line of told(name, report)) await writeLine(line);
    },
  );
}

function told(name: string, { delivered, alreadyTerminal, refused, stale }: SignalReport): string[] {
  return [
    ...delivered.map((pid) => `${fullName(pid)} ${safeText(name)} delivered`),
    ...alreadyTerminal.map((pid) => `${fullName(pid)} had ended before`),
    ...refused.map(({ pid, code, message }) => `${fullName(pid)} refused, ${code}: ${safeText(message)}`),
    ...stale.map((pid) => `${fullName(pid)} could not be verified and was left alone`),
  ];
}
