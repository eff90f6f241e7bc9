import type { EventType, Kernel, KernelEvent, Page } from '../../src/index.js';
import { openRawTables } from './storage/raw-tables.js';

export interface NodeFact {
  id: string;
  name: string | null;
  epoch: number;
  expires_at: number;
  lease_ms: number | null;
  renewals: number;
  host: string;
  started_at: number;
  ended_at: number | null;
}

/** The rows of nodes in the store at `path`, as only another node could see and change them. */
export function nodesIn(path: string) {
  const tables = openRawTables(path);
  return {
    all: () => tables.rows<NodeFact>('nodes', 'id'),
    get: (id: string) => tables.find<NodeFact>('nodes', { id }),
    edit: (id: string, columns: Partial<NodeFact>) => tables.update('nodes', { id }, columns),
    remove: (id: string) => tables.delete('nodes', { id }),
    /** Adds a node of an unknown machine. */
    async addElsewhere(id: string, columns: Partial<NodeFact> = {}): Promise<void> {
      const host = JSON.stringify({ machine: 'elsewhere', boot: 'b', pid: process.pid, startTicks: '1' });
      const lease = { expires_at: 1, lease_ms: 30_000, renewals: 0 };
      await tables.insert('nodes', {
        id,
        name: 'elsewhere',
        epoch: 1,
        ...lease,
        host,
        started_at: 0,
        ended_at: null,
        ...columns,
      });
    },
    /** Makes every process in the table one that `node` runs. */
    async holdAll(node: string): Promise<void> {
      for (const { pid = '', created_at = null } of await tables.rows('processes')) {
        await tables.update('processes', { pid }, { status: 'running', node, started_at: created_at });
      }
    },
    /** Holds the write lock of the store until disposed; changes that are made meanwhile are seen from then on. */
    lock: () => tables.lock(),
  };
}

/** The events about nodes, of all nodes, in order. */
export async function nodeEvents(kernel: Kernel): Promise<KernelEvent[]> {
  const types: EventType[] = ['node.lapsed', 'node.recovered', 'node.stopped'];
  const events: KernelEvent[] = [];
  for (let after: string | undefined = '0'; after !== undefined; ) {
    const page: Page<KernelEvent> = await kernel.events.list({ types, after, limit: 10_000 });
    events.push(...page.items);
    after = page.next;
  }
  return events;
}
