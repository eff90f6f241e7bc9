import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createKernel } from '../../../src/index.js';
import { compilePrograms } from '../../support/crash/compile-programs.js';
import { Program } from '../../support/crash/program.js';
import { eventually } from '../../support/eventually.js';
import { tempFolder } from '../../support/kernel.js';
import { findInconsistencies } from '../../support/store-consistency.js';

let programs = '';
beforeAll(async () => {
  programs = await compilePrograms();
});

const notes = ['note of the lead', 'note of the researcher'];
const asked = ['ask lead 0', 'ask lead 1', 'ask researcher 0', 'ask researcher 1', 'ask lead 2'];

describe('agents of the OpenAI Agents SDK in a program that is killed', () => {
  for (const hangAt of ['lead 2', 'researcher 1', 'lead 1']) {
    it(`while the model is asked for turn ${hangAt} go on there: nothing is asked or done twice`, async () => {
      const folder = tempFolder();
      const [store, log] = [join(folder, 'agents.db'), join(folder, 'lines.txt')];
      const start = async (...args: string[]) => {
        const program = new Program(join(programs, 'openai-agents.js'), store, log, ...args);
        onTestFinished(() => program.kill());
        await program.waitForLine((line) => line === 'ready');
        program.send('go');
        return program;
      };
      const lines = () => readFileSync(log, 'utf8').trim().split('\n');
      const killed = await start(hangAt);
      await eventually(() => expect(lines()).toContain(`ask ${hangAt}`));
      await killed.kill();
      const second = await start();
      const line = await second.waitForLine((text) => text.startsWith('result'));
      await second.expectSuccess();
      const { value, tokens } = JSON.parse(line.slice('result '.length)) as { value: object; tokens: number };
      expect(value).toMatchObject({ text: 'the tides are known', agent: 'lead', turns: 3 });
      // Five turns of fifteen tokens each; the one that was cut off is paid once.
      expect(tokens).toBe(75);
      expect(
        lines()
          .filter((text) => text.startsWith('note'))
          .sort(),
      ).toEqual(notes);
      expect(
        lines()
          .filter((text) => text.startsWith('ask'))
          .sort(),
      ).toEqual([...asked, `ask ${hangAt}`].sort());
      const kernel = await createKernel({ logger: 'silent', store, node: { executor: false } });
      onTestFinished(async () => void (await kernel.shutdown()));
      expect(await findInconsistencies(kernel)).toEqual([]);
      const children = await kernel.processes.list({ image: 'lead' });
      expect(children.items.map(({ name }) => name ?? '')).toEqual(['', 'researcher']);
    });
  }
});
