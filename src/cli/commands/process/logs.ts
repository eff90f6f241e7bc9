import type { Kernel, LogLine, Pid } from '../../../index.js';
import { type CommonOptions, withReadOnlyStore } from '../../open-store.js';
import { paint, writeJsonLine, writeLine } from '../../output.js';
import { findPid } from '../../pids.js';
import { safeJson, safeText } from '../../safe-text.js';
import { formatTime } from '../../times.js';

interface LogsOptions extends CommonOptions {
  readonly stream: 'stdout' | 'stderr';
}

const pageRows = 1_000;
const lineCharsMax = 8_192;

/** Prints what the body of a process has logged; of a command, what it has written. */
export async function logs(pidOrSuffix: string, options: LogsOptions): Promise<void> {
  await withReadOnlyStore(options, async (kernel) => {
    const pid = await findPid(kernel, pidOrSuffix);
    const { kind } = await kernel.processes.get(pid);
    const isJson = options.json === true;
    if (kind === 'command') return printOutput(kernel, pid, options.stream, isJson);
    await printLog(kernel, pid, isJson ? writeJsonLine : (line) => writeLine(formatLine(line)));
  });
}

async function printLog({ processes }: Kernel, pid: Pid, print: (line: LogLine) => Promise<void>): Promise<void> {
  for (let after: string | undefined = '0'; after !== undefined; ) {
    const page: Awaited<ReturnType<typeof processes.logs>> = await processes.logs(pid, { after, limit: pageRows });
    for (const line of page.items) await print(line);
    after = page.next;
  }
}

/** Line by line; a line that is very long is printed in parts. */
async function printOutput(
  { processes }: Kernel,
  pid: Pid,
  stream: 'stdout' | 'stderr',
  isJson: boolean,
): Promise<void> {
  const print = (text: string) =>
    isJson ? writeJsonLine({ stream, text }) : writeLine(safeText(text.replace(/\r$/, ''), lineCharsMax));
  let rest = '';
  for (let offset = 0; ; ) {
    const { text, next } = await processes.readOutput(pid, { stream, offset });
    if (next === offset) break;
    offset = next;
    const lines = `${rest}${text}`.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) await print(line);
    if (rest.length >= lineCharsMax) {
      await print(rest);
      rest = '';
    }
  }
  if (rest !== '') await print(rest);
}

function formatLine({ at, text, facts }: LogLine): string {
  const details = facts === undefined ? '' : ` ${paint.dim(safeText(safeJson(facts), lineCharsMax))}`;
  return `${paint.dim(formatTime(at))} ${safeText(text, lineCharsMax)}${details}`;
}
