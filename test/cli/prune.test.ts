import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { refusalOf, runCli } from '../support/cli/run-cli.js';
import { newStore, openKernel } from '../support/kernel.js';

const modeOf = (store: string) => {
  const db = new Database(store, { readonly: true });
  try {
    return db.pragma('auto_vacuum', { simple: true });
  } finally {
    db.close();
  }
};

describe('prune', () => {
  it('removes what ended before a time, beside a running kernel', async () => {
    const store = await newStore();
    const kernel = await openKernel({ store, durability: 'normal' });
    const [ended, live] = [await kernel.processes.spawn(), await kernel.processes.spawn()];
    await kernel.processes.exit(ended);
    const run = (...args: string[]) => runCli(['prune', ...args, '--store', store]);
    expect((await run('--ended-before', '7d')).stdout).toBe('0 processes pruned.\n');
    const later = new Date(Date.now() + 60_000).toISOString();
    expect(JSON.parse((await run('--ended-before', later, '--json')).stdout)).toEqual({ pruned: 1 });
    expect((await kernel.processes.list()).items.map(({ pid }) => pid)).toEqual([live]);
    expect(refusalOf(await run('--compact'))).toEqual({ exitCode: 1, code: 'CONFLICT' });
    expect((await run()).exitCode).toBe(2);
    expect((await run('--ended-before', 'soon')).exitCode).toBe(2);
  });

  it('compacts a file that cannot give room back', async () => {
    const store = await newStore();
    const db = new Database(store);
    db.exec('PRAGMA auto_vacuum = NONE; CREATE TABLE x (y); DROP TABLE x');
    db.close();
    const kernel = await openKernel({ store, durability: 'normal' });
    await kernel.processes.exit(await kernel.processes.spawn());
    await kernel.shutdown();
    expect(modeOf(store)).toBe(0);
    const { stdout } = await runCli(['prune', '--compact', '--store', store]);
    expect([stdout, modeOf(store)]).toEqual(['0 processes pruned, the file compacted.\n', 2]);
    const again = await openKernel({ store, durability: 'normal' });
    expect((await again.processes.list()).items).toHaveLength(1);
    expect((await again.audit.verify()).ok).toBe(true);
  });
});
