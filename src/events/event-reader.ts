import type { Pid } from '../base/ids.js';
import { scanRowsMax } from '../base/page.js';
import type { ReadTx, Store } from '../base/store.js';
import type { KernelEvent } from './event.js';
import type { EventRepository, EventScan } from './event-repository.js';
import type { TreeMembership } from './tree-membership.js';

/** Selects events. Every member that is given must fit. */
interface Selection {
  readonly pid?: Pid | undefined;
  readonly tree?: Pid | undefined;
  readonly types?: readonly string[] | undefined;
}

/** Where a part of the log begins, and in which direction it goes. */
export interface PartStart {
  /** The number of the event before the part, in its order. */
  readonly from: number;
  readonly order: 'asc' | 'desc';
  /** Only events with lower numbers. */
  readonly before: number;
  /** The largest number of rows to read. */
  readonly rows: number;
}

/** A part of the log: the events that were selected, and how far it was read. */
export interface EventPart {
  readonly events: KernelEvent[];
  /** The number of the last event that was looked at: the `from` of the next part. */
  readonly cursor: number;
  /** The number of rows that were read. */
  readonly scanned: number;
  /** Whether nothing was left in this direction. */
  readonly isLast: boolean;
}

/** Reads the event log by the narrowest index that a selection allows, in short units. */
export class EventReader {
  constructor(
    private readonly store: Store,
    private readonly repository: EventRepository,
    private readonly trees: TreeMembership,
  ) {}

  /** Reads one part. It may have no events although it is not the last one. */
  async read(selection: Selection, start: PartStart): Promise<EventPart> {
    const { order, rows, from } = start;
    const { found, above, below, isWhole, isScan } = await this.store.read(async (tx) => {
      const scan = await this.scanOf(tx, selection);
      const range = rangeOf(start, scan, await this.repository.head(tx));
      const found = await this.repository.find(tx, scan, { ...range, order, limit: rows });
      return { ...range, found, isScan: scan.by === 'types' };
    });
    const events: KernelEvent[] = [];
    for (const event of found) if (await this.matches(event, selection)) events.push(event);
    const last = found.at(-1);
    if (last !== undefined && found.length === rows) return { events, cursor: last.seq, scanned: rows, isLast: false };
    const cursor = order === 'asc' ? Math.max(below - 1, from) : above + 1;
    return { events, cursor, scanned: isScan ? below - above - 1 : found.length, isLast: isWhole };
  }

  private async scanOf(tx: ReadTx, { pid, tree, types }: Selection): Promise<EventScan> {
    if (pid !== undefined) return { by: 'pid', pid };
    if (tree === undefined) return types === undefined ? { by: 'all' } : { by: 'types', types };
    const [root] = await this.repository.spawnPath(tx, tree);
    return root === undefined ? { by: 'pid', pid: tree } : { by: 'bornIn', root };
  }

  private async matches(event: KernelEvent, { pid, tree, types }: Selection): Promise<boolean> {
    if (types !== undefined && !types.includes(event.type)) return false;
    if (pid !== undefined && event.pid !== pid) return false;
    return tree === undefined || (await this.trees.contains(tree, event.pid));
  }
}

/** `isWhole`: the range goes to the end of the log in this direction. */
function rangeOf({ from, order, before }: PartStart, scan: EventScan, head: number) {
  const top = Math.min(before, head + 1);
  const rowsMax = scan.by === 'types' ? scanRowsMax : Number.POSITIVE_INFINITY;
  if (order === 'asc') {
    const below = Math.min(top, from + 1 + rowsMax);
    return { above: from, below, isWhole: below === top };
  }
  const below = Math.min(top, from);
  const above = Math.max(0, below - 1 - rowsMax);
  return { above, below, isWhole: above === 0 };
}
