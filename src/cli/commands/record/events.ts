import type { KernelEvent, Page } from '../../../index.js';
import { AbortOnSignal } from '../../abort-on-signal.js';
import { type CommonOptions, withReadOnlyStore } from '../../open-store.js';
import { paint, writeJsonLine, writeLine } from '../../output.js';
import { findPid } from '../../pids.js';
import { safeJson, safeText } from '../../safe-text.js';
import { formatTime } from '../../times.js';

interface EventsOptions extends CommonOptions {
  readonly follow?: boolean;
  readonly pid?: string;
  readonly tree?: string;
  readonly after: number;
}

const pageRows = 1_000;

/** Prints the event log; with --follow, also new events until it is interrupted. */
export async function events(options: EventsOptions): Promise<void> {
  await withReadOnlyStore(options, async (kernel) => {
    const filter = {
      ...(options.pid === undefined ? {} : { pid: await findPid(kernel, options.pid) }),
      ...(options.tree === undefined ? {} : { tree: await findPid(kernel, options.tree) }),
    };
    const print = options.json === true ? writeJsonLine : (event: KernelEvent) => writeLine(formatEvent(event));
    if (options.follow === true) {
      using interruption = new AbortOnSignal();
      const { signal } = interruption;
      for await (const event of kernel.events.stream({ ...filter, after: options.after, signal })) await print(event);
      return;
    }
    for (let after: string | undefined = String(options.after); after !== undefined; ) {
      const page: Page<KernelEvent> = await kernel.events.list({ ...filter, after, limit: pageRows });
      for (const event of page.items) await print(event);
      after = page.next;
    }
  });
}

function formatEvent({ seq, type, at, pid, data }: KernelEvent): string {
  const whom = pid === undefined ? '' : ` ${safeText(pid, 100)}`;
  return `${paint.dim(`${seq} ${formatTime(at)}`)} ${type}${whom} ${paint.dim(safeText(safeJson(data), 300))}`;
}
