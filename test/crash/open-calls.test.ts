import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { compilePrograms } from '../support/crash/compile-programs.js';
import { Program } from '../support/crash/program.js';
import { checkInvariants } from '../support/invariants.js';
import { openKernel, tempFolder } from '../support/kernel.js';

let programs = '';
beforeAll(async () => {
  programs = await compilePrograms();
});

describe('an open call whose program is killed after the work and before it is settled', () => {
  async function runTwice(effect: 'once' | 'idempotent') {
    const folder = tempFolder();
    const [store, log] = [join(folder, 'open.db'), join(folder, 'work.log')];
    const first = new Program(join(programs, 'opener.js'), store, log, 'stop');
    first.send(effect);
    await first.waitForLine((line) => line === 'third');
    await first.kill();
    const second = new Program(join(programs, 'opener.js'), store, log);
    second.send(effect);
    const line = await second.waitForLine((text) => text.startsWith('result '));
    await second.waitForEnd();
    const kernel = await openKernel({ store, node: { executor: false } });
    const { items } = await kernel.audit.list({ action: 'tool.call' });
    await checkInvariants(kernel, store);
    return {
      answers: JSON.parse(line.slice('result '.length)) as string[],
      work: readFileSync(log, 'utf8').trim().split('\n'),
      outcomes: items.map(({ outcome }) => outcome),
    };
  }

  it('has an unknown outcome and is not opened again where its effect may happen once', async () => {
    const { answers, work, outcomes } = await runTwice('once');
    expect(answers).toEqual(['once 0', 'idempotent 1', 'OUTCOME_UNKNOWN']);
    expect(work).toEqual(['once 0', 'idempotent 1', 'once 2']);
    expect(outcomes.filter((outcome) => outcome === 'unknown')).toHaveLength(1);
  });

  it('is opened again where its effect may be repeated', async () => {
    const { answers, work } = await runTwice('idempotent');
    expect(answers).toEqual(['once 0', 'idempotent 1', 'idempotent 2']);
    expect(work).toEqual(['once 0', 'idempotent 1', 'idempotent 2', 'idempotent 2']);
  });
});
