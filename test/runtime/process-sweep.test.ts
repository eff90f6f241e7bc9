import { randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { SharedSweeps } from '../../src/runtime/os/process-sweep.js';

const marks = () => ({ token: randomBytes(16).toString('hex'), files: [] });

describe.runIf(process.platform === 'linux')('looking for the processes of many commands', () => {
  it('is one sweep for all that ask in one turn', async () => {
    const sweeps = new SharedSweeps();
    const answers = await Promise.all(Array.from({ length: 500 }, () => sweeps.request(marks())));
    expect(sweeps.count).toBe(1);
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]?.find(process.pid)).toMatchObject({ pid: process.pid, parent: process.ppid });
  });

  it('is one more for all that ask while it runs, which sees what has happened since', async () => {
    const sweeps = new SharedSweeps();
    const first = sweeps.request(marks());
    while (sweeps.count === 0) await nextTurn();
    const later = Array.from({ length: 500 }, () => sweeps.request(marks()));
    const [sweep, ...others] = await Promise.all([first, ...later]);
    expect(sweeps.count).toBe(2);
    expect(others).not.toContain(sweep);
    await sweeps.request();
    expect(sweeps.count).toBe(3);
  });

  it('lets the event loop go on', async () => {
    const sweeps = new SharedSweeps();
    let turns = 0;
    let isDone = false;
    const counting = (async () => {
      for (; !isDone; turns++) await nextTurn();
    })();
    await sweeps.request(marks());
    isDone = true;
    await counting;
    expect(turns).toBeGreaterThan(2);
  });

  it('never leads to this program or the ones that have started it', async () => {
    const sweeps = new SharedSweeps();
    const sweep = await sweeps.request(marks());
    for (const pid of [process.pid, process.ppid, 1]) expect(sweep.isSpared(pid)).toBe(true);
    const init = sweep.find(1);
    expect(init === undefined ? [] : sweep.withDescendants([init])).toEqual([]);
  });
});
