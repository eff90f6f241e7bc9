import { describe, expect, it } from 'vitest';
import { OsGroups } from '../../src/index.js';
import type { SystemOsGroups } from '../../src/runtime/os/os-groups.js';
import { commandFixture, findOsProcesses, uniqueSeconds } from '../support/command-fixture.js';
import { isSweep } from '../support/seeded.js';

/** The machine gets so many processes at once. */
const commands = isSweep ? 500 : 150;
const startedAtOnce = 10;

describe.runIf(process.platform === 'linux')('stopping many commands', () => {
  it('looks at the processes of the machine for all of them together', { timeout: 300_000 }, async () => {
    const { kernel, face } = await commandFixture({}, { durability: 'normal' });
    const groups = kernel.container.get(OsGroups) as SystemOsGroups;
    const seconds = uniqueSeconds();
    const owner = { session: 'many' };
    const pids: string[] = [];
    while (pids.length < commands) {
      const starting = Array.from({ length: startedAtOnce }, () =>
        face.run({ argv: ['sleep', seconds], background: true, owner }),
      );
      for (const { pid } of await Promise.all(starting)) pids.push(pid);
    }
    await expect.poll(() => findOsProcesses(`sleep ${seconds}`).length).toBe(commands);
    const before = groups.sweepCount;
    const { delivered } = await kernel.processes.signal({ owner }, 'cancel');
    expect(delivered).toHaveLength(commands);
    const results = await Promise.all(pids.map((pid) => kernel.processes.result(pid)));
    expect(new Set(results.map(({ outcome }) => outcome.kind))).toEqual(new Set(['cancelled']));
    expect(findOsProcesses(seconds)).toEqual([]);
    // Each command alone needs one to find its processes, and one to see that none is left.
    expect(groups.sweepCount - before).toBeLessThan(commands);
  });
});
