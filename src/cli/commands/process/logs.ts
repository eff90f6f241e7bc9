import { setTimeout as sleep } from 'node:timers/promises';
import type { Kernel, LogLine, Pid } from '../../../index.js';
import { AbortOnSignal } from '../../abort-on-signal.js';
import { type CommonOptions, withReadOnlyStore } from '../../open-store.js';
import { paint, writeJsonLine, writeLine } from '../../output.js';
import { findPid } from '../../pids.js';
import { safeJson, safeText } from '../../safe-text.js';
import { formatTime } from '../../times.js';

interface LogsOptions extends CommonOptions {
  readonly stream: 'stdout' | 'stderr';
  readonly follow?: boolean;
}

/** Small, so that a page which is read again while lines are added has few lines that were printed before. */
const pageRows = 100;
const lineCharsMax = 8_192;
const followMs = 250;

/**
 * Prints what the body of a process has logged; of a command, what it has written. With --follow, also what is added until
 * the process has ended or the command is interrupted.
 */
export async function logs(pidOrSuffix: string, options: LogsOptions): Promise<void> {
  await withReadOnlyStore(options, async (kernel) => {
    const pid = await findPid(kernel, pidOrSuffix);
    const { kind } = await kernel.processes.get(pid);
    const isJson = options.json === true;
    const printMore =
      kind === 'command'
        ? outputPrinter(kernel, pid, options.stream, isJson)
        : logPrinter(kernel, pid, isJson ? writeJsonLine : (line) => writeLine(formatLine(line)));
    if (options.follow === true) await follow(kernel, pid, printMore);
    else await printMore(true);
  });
}

/** Prints what was added since the last time. `isLast`: nothing is added after this. */
type PrintMore = (isLast: boolean) => Promise<void>;

async function follow({ processes }: Kernel, pid: Pid, printMore: PrintMore): Promise<void> {
  using interruption = new AbortOnSignal();
  const { signal } = interruption;
  while (!signal.aborted) {
    // Asked before printing: what is logged between the two would be missed otherwise.
    const hasEnded = (await processes.get(pid)).exitedAt !== undefined;
    await printMore(hasEnded);
    if (hasEnded) return;
    await sleep(followMs, undefined, { signal }).catch(() => undefined);
  }
}

function logPrinter({ processes }: Kernel, pid: Pid, print: (line: LogLine) => Promise<void>): PrintMore {
  let after = '0';
  let printed = 0;
  return async () => {
    for (;;) {
      const { items, next } = await processes.logs(pid, { after, limit: pageRows });
      for (const line of items.slice(printed)) await print(line);
      printed = next === undefined ? items.length : 0;
      if (next === undefined) return;
      after = next;
    }
  };
}

/** Line by line; a line that is very long is printed in parts. */
function outputPrinter({ processes }: Kernel, pid: Pid, stream: 'stdout' | 'stderr', isJson: boolean): PrintMore {
  const print = (text: string) =>
    isJson ? writeJsonLine({ stream, text }) : writeLine(safeText(text.replace(/\r$/, ''), lineCharsMax));
  let offset = 0;
  let rest = '';
  return async (isLast) => {
    for (;;) {
      const { text, next } = await processes.readOutput(pid, { stream, offset });
      if (next === offset) break;
      offset = next;
      const lines = `${rest}${text}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) await print(line);
      if (rest.length < lineCharsMax) continue;
      await print(rest);
      rest = '';
    }
    if (isLast && rest !== '') await print(rest);
  };
}

function formatLine({ at, text, facts }: LogLine): string {
  const details = facts === undefined ? '' : ` ${paint.dim(safeText(safeJson(facts), lineCharsMax))}`;
  return `${paint.dim(formatTime(at))} ${safeText(text, lineCharsMax)}${details}`;
}
