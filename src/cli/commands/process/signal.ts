import type { SignalName, SignalReport } from '../../../index.js';
import { type CommonOptions, withWritableStore } from '../../open-store.js';
import { writeJson, writeLine } from '../../output.js';
import { findPid, fullName } from '../../pids.js';
import { safeText } from '../../safe-text.js';

interface SignalCommandOptions extends CommonOptions {
  readonly reason?: string;
}

/** Sends a signal and prints the processes that it reached. The kernel that runs a process acts when it reads the event. */
export async function signal(pidOrSuffix: string, name: string, options: SignalCommandOptions): Promise<void> {
  await withWritableStore(
    options,
    (kernel) => findPid(kernel, pidOrSuffix),
    async ({ processes }, pid) => {
      const { reason } = options;
      // The kernel validates the name.
      const report = await processes.signal(pid, name as SignalName, reason === undefined ? {} : { reason });
      if (options.json === true) return writeJson(report);
      for (const line of formatReport(name, report)) await writeLine(line);
    },
  );
}

function formatReport(name: string, report: SignalReport): string[] {
  const { delivered, unchanged, alreadyTerminal, refused, stale, unavailable } = report;
  return [
    ...delivered.map((pid) => `${fullName(pid)} ${safeText(name)} delivered`),
    ...unchanged.map((pid) => `${fullName(pid)} unchanged`),
    ...alreadyTerminal.map((pid) => `${fullName(pid)} had ended before`),
    ...refused.map(({ pid, code, message }) => `${fullName(pid)} refused, ${code}: ${safeText(message)}`),
    ...stale.map((pid) => `${fullName(pid)} stale: its program is gone; nothing was signalled`),
    ...unavailable.map(
      (pid) => `${fullName(pid)} unavailable: it cannot be signalled from here; the order is on record`,
    ),
  ];
}
