import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { defineImage } from '../../src/index.js';
import { compilePrograms } from '../support/crash/compile-programs.js';
import { Program } from '../support/crash/program.js';
import { eventually } from '../support/eventually.js';
import { checkInvariants } from '../support/invariants.js';
import { openKernel, tempFolder } from '../support/kernel.js';

let programs = '';
beforeAll(async () => {
  programs = await compilePrograms();
});

it('a question outlives the program of the body that asked it, and is asked and answered once', async () => {
  const store = join(tempFolder(), 'questions.db');
  // Only to be spawned: this kernel runs nothing.
  const clerk = defineImage({ name: 'clerk', run: () => Promise.reject(new Error('run by the wrong kernel')) });
  const kernel = await openKernel({ store, images: [clerk], node: { executor: false, pollMs: 5 } });
  const start = async () => {
    const program = new Program(join(programs, 'questioner.js'), store);
    program.send('go');
    await program.waitForLine((line) => line.startsWith('node '));
    return program;
  };
  const pending = (text: string) =>
    eventually(async () => {
      const found = (await kernel.questions.list()).find(({ question }) => question === text);
      if (found === undefined) throw new Error('it is not asked yet');
      return found.id;
    });
  let program = await start();
  const pid = await kernel.processes.spawn({ image: 'clerk' });
  const first = await pending('first?');
  await program.kill();
  // Answered while no program runs the body.
  await kernel.questions.answer(first, { answer: { text: 'yes' }, by: 'ann' });
  program = await start();
  const second = await pending('second?');
  await program.kill();
  program = await start();
  await eventually(async () => expect((await kernel.processes.get(pid)).wait).toMatchObject({ what: second }));
  await kernel.questions.answer(second, { answer: 2, by: 'bob' });
  expect(await kernel.processes.result(pid)).toMatchObject({ status: 'exited', value: [{ text: 'yes' }, 2] });
  expect((await kernel.questions.list({ status: 'any' })).map(({ id }) => id)).toEqual([first, second]);
  await program.kill();
  await checkInvariants(kernel, store);
});
