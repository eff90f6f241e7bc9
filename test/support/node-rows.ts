import Database from 'better-sqlite3';
import { onTestFinished } from 'vitest';
import type { EventType, Kernel, KernelEvent, Page } from '../../src/index.js';

export interface NodeFact {
  id: string;
  name: string | null;
  epoch: number;
  expires_at: number;
  host: string;
  started_at: number;
  ended_at: number | null;
}

/** The rows of nodes in the database at `path`, as only another node could see and change them. */
export function nodesIn(path: string) {
  const db = new Database(path);
  db.pragma('busy_timeout = 5000');
  onTestFinished(() => void db.close());
  return {
    all: () => db.prepare('SELECT * FROM nodes ORDER BY id').all() as NodeFact[],
    get: (id: string) => db.prepare('SELECT * FROM nodes WHERE id = ?').get(id) as NodeFact | undefined,
    edit(id: string, columns: Partial<NodeFact>): void {
      const set = Object.keys(columns).map((name) => `${name} = @${name}`);
      db.prepare(`UPDATE nodes SET ${set.join(', ')} WHERE id = @id`).run({ ...columns, id });
    },
    remove: (id: string) => void db.prepare('DELETE FROM nodes WHERE id = ?').run(id),
    /** A node that this machine knows nothing of, with a lease until `expiresAt`. */
    addElsewhere(id: string, expiresAt: number): void {
      const host = JSON.stringify({ machine: 'elsewhere', boot: 'b', pid: process.pid, startTicks: '1' });
      db.prepare("INSERT INTO nodes VALUES (?, 'elsewhere', 1, ?, ?, 0, NULL)").run(id, expiresAt, host);
    },
    /** Every process in the table becomes one that `node` runs. */
    holdAll: (node: string) =>
      void db.prepare("UPDATE processes SET status = 'running', node = ?, started_at = created_at").run(node),
    /** Keeps the write lock of the file until it is disposed of; what is edited meanwhile is seen from then on. */
    lock(): Disposable {
      db.exec('BEGIN IMMEDIATE');
      return { [Symbol.dispose]: () => void db.exec('COMMIT') };
    },
  };
}

/** What was told of nodes, by all of them, in order. */
export async function nodeEvents(kernel: Kernel): Promise<KernelEvent[]> {
  const types: EventType[] = ['node.lapsed', 'node.recovered', 'node.stopped'];
  const told: KernelEvent[] = [];
  for (let after: string | undefined = '0'; after !== undefined; ) {
    const page: Page<KernelEvent> = await kernel.events.list({ types, after, limit: 10_000 });
    told.push(...page.items);
    after = page.next;
  }
  return told;
}
