import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { PartReader } from '../support/agent-parts.js';
import { compilePrograms } from '../support/crash/compile-programs.js';
import { Program } from '../support/crash/program.js';
import { checkInvariants } from '../support/invariants.js';
import { openKernel, tempFolder } from '../support/kernel.js';

let programs = '';
beforeAll(async () => {
  programs = await compilePrograms();
});

/** Three in each of five turns, and two renewals. */
const points = 17;

it('a conversation that is killed at each of its commits says and answers everything once', async () => {
  const folder = tempFolder();
  const [store, passed] = [join(folder, 'talk.db'), join(folder, 'passed')];
  const kernel = await openKernel({ store, node: { executor: false, pollMs: 5 } });
  let reader: PartReader | undefined;
  let line: string | undefined;
  let runs = 0;
  for (; line === undefined && runs <= points; runs++) {
    const program = new Program(join(programs, 'talker.js'), store, passed);
    program.send('go');
    line = await program.waitForLine((text) => text.startsWith('replies ')).catch(() => undefined);
    await program.kill();
    const pid = await kernel.processes.find(null, 'talker');
    if (reader === undefined && pid !== undefined) reader = new PartReader(kernel, pid);
  }
  const replies = ['1:m1', '2:m2', '3:m3', '4:m4', '5:m5'];
  expect(runs).toBe(points + 1);
  expect(line).toBe(`replies ${JSON.stringify(replies)}`);
  const pid = (await kernel.processes.find(null, 'talker')) ?? '';
  await kernel.processes.exit(pid);
  await reader?.done;
  const expected = replies.flatMap((text, index) => {
    const turn = index + 1;
    return [`${turn} turn-start`, `${turn} text ${text}`, `${turn} turn-end`];
  });
  // One reader was there from the beginning, over all crashes; the other comes when all is over.
  expect(reader?.told).toEqual([...expected, '5 end completed']);
  const late = new PartReader(kernel, pid);
  await late.done;
  expect(late.told).toEqual(reader?.told);
  expect((await kernel.audit.list({ action: 'process.renew' })).items).toHaveLength(2);
  await checkInvariants(kernel, store);
});
