import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { shortNames } from '../../src/cli/pids.js';
import { refusalOf, runCli } from '../support/cli/run-cli.js';
import { openKernel, tempFolder } from '../support/kernel.js';

describe('short pids', () => {
  it('are eight characters long where that is enough, and longer where it is not', () => {
    const name = shortNames(['p_0123456789aaaaaaaa', 'p_0123456789bbbbbbbb']);
    expect(name('p_0123456789aaaaaaaa')).toBe('aaaaaaaa');
    const alike = shortNames(['p_00001111aaaaaaaa', 'p_00002222aaaaaaaa']);
    expect(alike('p_00001111aaaaaaaa')).toBe('1111aaaaaaaa');
  });

  it('keep the ids that children were given', () => {
    const name = shortNames(['p_0123456789aaaaaaaa.search', 'p_0123456789aaaaaaaa.search.deep']);
    expect(name('p_0123456789aaaaaaaa.search.deep')).toBe('aaaaaaaa.search.deep');
    expect(shortNames(['p_1'])('p_1')).toBe('p_1');
  });

  it('that fit several processes are refused by name', async () => {
    const store = path.join(tempFolder(), 'alike.db');
    let count = 0;
    const kernel = await openKernel({ store, ids: { next: (kind) => `${kind}_${1000 + count++}_ending` } });
    const pids = [await kernel.processes.spawn(), await kernel.processes.spawn()];
    const refused = await runCli(['show', '_ending', '--store', store]);
    expect(refusalOf(refused)).toEqual({ exitCode: 1, code: 'AMBIGUOUS_PID' });
    for (const pid of pids) expect(refused.stderr).toContain(pid);
    expect((await runCli(['show', pids[0]?.slice(-11) ?? '', '--store', store])).stdout).toContain(pids[0]);
  }, 150_000);
});
