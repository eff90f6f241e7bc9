import { z } from 'zod';
import { lowerAscii } from '../../base/characters.js';
import type { Pid } from '../../base/ids.js';
import { pageOptions, storedText } from '../../base/spec.js';
import { pidList, signalScope } from '../specs.js';
import {
  isTerminal,
  type LiveStatus,
  type OwnerKeys,
  type ProcessKind,
  type ProcessRow,
  type ProcessStatus,
  processStatuses,
  queueOf,
  type WaitFacet,
  waitKinds,
} from './process.js';
import type { ProcessScan } from './process-repository.js';

/** Selects the processes of a list. All selectors are combined with AND; ended processes are included unless filtered out. */
export interface ProcessFilter {
  /** Processes by pid. */
  readonly ids?: readonly Pid[];
  /** One status, or several. */
  readonly status?: ProcessStatus | readonly ProcessStatus[];
  /** True: only processes that have not ended. False: only ended ones. */
  readonly live?: boolean;
  readonly kind?: ProcessKind;
  /** `name`, or `name@version`. */
  readonly image?: string;
  /** The name, exactly. */
  readonly name?: string;
  readonly queue?: string;
  /** The external reference, exactly. */
  readonly externalRef?: string;
  /** All of these labels. */
  readonly labels?: Readonly<Record<string, string>>;
  /** The children of this process. */
  readonly parent?: Pid;
  /** The processes of the tree of this root. */
  readonly root?: Pid;
  /** The node that runs them. */
  readonly node?: string;
  /** Whether it waits, or the kind of its wait. */
  readonly waiting?: boolean | WaitFacet['kind'];
  /** The earliest creation, in milliseconds since 1970. */
  readonly createdFrom?: number;
  /** The latest creation. */
  readonly createdTo?: number;
  /** All keys that are given match. */
  readonly owner?: OwnerKeys;
  /** Matches the beginning of the name or of a label's value, or the end of the pid; ASCII letters have no case. */
  readonly text?: string;
  /** In the order of creation, `oldest` first unless asked otherwise. */
  readonly order?: 'oldest' | 'newest';
  /** The largest number of processes. */
  readonly limit?: number;
  /** The cursor of the page before, its `next`. */
  readonly after?: string;
}

const statuses = z.enum(processStatuses);

export const processFilter = signalScope.omit({ tree: true }).extend({
  ids: pidList.optional(),
  status: z.union([statuses, z.array(statuses)]).optional(),
  live: z.boolean().optional(),
  parent: storedText.optional(),
  waiting: z.union([z.boolean(), z.enum(waitKinds)]).optional(),
  createdFrom: z.number().int().optional(),
  createdTo: z.number().int().optional(),
  text: z.string().min(1).max(256).optional(),
  order: z.enum(['oldest', 'newest']).default('oldest'),
  ...pageOptions,
});

export type Selectors = Omit<z.output<typeof processFilter>, 'limit' | 'after' | 'order'>;

/** `wait`: what the process waits for, which for a runnable one is not in its row. */
export function matchesFilter(
  filter: Selectors,
  row: ProcessRow,
  wait: Pick<WaitFacet, 'kind'> | null = row.wait,
): boolean {
  const { ids, status, live, waiting, image, createdFrom = 0, createdTo = Number.MAX_SAFE_INTEGER } = filter;
  return (
    (ids === undefined || ids.includes(row.pid)) &&
    (status === undefined || (Array.isArray(status) ? status.includes(row.status) : status === row.status)) &&
    (live === undefined || live !== isTerminal(row.status)) &&
    (waiting === undefined || (typeof waiting === 'boolean' ? waiting === (wait !== null) : waiting === wait?.kind)) &&
    (image === undefined || row.image === image || row.image.startsWith(`${image}@`)) &&
    row.createdAt >= createdFrom &&
    row.createdAt <= createdTo &&
    matchesFields(filter, row) &&
    hasText(filter.text, row) &&
    hasTags(filter.labels, row.labels) &&
    hasTags(filter.owner, row.owner)
  );
}

/** The narrowest index that the filter allows. */
export function narrowestScanOf(filter: Selectors): ProcessScan {
  const { ids, externalRef, labels, owner, parent, root, status, waiting } = filter;
  if (ids !== undefined) return { by: 'pids', pids: ids };
  if (externalRef !== undefined) return { by: 'externalRef', externalRef };
  const ownerKey = Object.entries(owner ?? {})[0];
  if (ownerKey !== undefined) return { by: 'tag', space: 'owner', key: ownerKey[0], value: `${ownerKey[1]}` };
  const label = Object.entries(labels ?? {})[0];
  if (label !== undefined) return { by: 'tag', space: 'label', key: label[0], value: label[1] };
  if (parent !== undefined) return { by: 'parent', parent };
  if (root !== undefined) return { by: 'root', root };
  if (typeof status === 'string' && !isTerminal(status)) return { by: 'status', status: status as LiveStatus };
  if (waiting === 'tools' || waiting === 'image') return { by: 'status', status: 'runnable' };
  const { kind, image, name, queue, node, createdFrom, createdTo, text } = filter;
  const conditions = { statuses: statusesOf(filter), kind, image, name, queue, node, createdFrom, createdTo, text };
  const isAny = Object.values(conditions).every((condition) => condition === undefined);
  return isAny ? { by: 'all' } : { by: 'conditions', conditions };
}

function statusesOf({ status, live }: Selectors): readonly ProcessStatus[] | undefined {
  if (status === undefined && live === undefined) return undefined;
  const named = status === undefined ? processStatuses : [status].flat();
  return named.filter((one) => live === undefined || live !== isTerminal(one));
}

function matchesFields(filter: Selectors, row: ProcessRow): boolean {
  const { kind = row.kind, name = row.name, parent = row.parent, root = row.root, node = row.node } = filter;
  const { queue = queueOf(row), externalRef = row.externalRef } = filter;
  return (
    kind === row.kind &&
    name === row.name &&
    parent === row.parent &&
    root === row.root &&
    node === row.node &&
    queue === queueOf(row) &&
    externalRef === row.externalRef
  );
}

function hasText(text: string | undefined, { name, pid, labels }: ProcessRow): boolean {
  if (text === undefined) return true;
  const looked = lowerAscii(text);
  const begins = [name ?? '', ...Object.values(labels ?? {})].some((value) => lowerAscii(value).startsWith(looked));
  return begins || lowerAscii(pid).endsWith(looked);
}

function hasTags(required: object | undefined, tags: object | null): boolean {
  const values = new Map<string, unknown>(Object.entries(tags ?? {}));
  return Object.entries(required ?? {}).every(([key, value]) => value === undefined || values.get(key) === value);
}
