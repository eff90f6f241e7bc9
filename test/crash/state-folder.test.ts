import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { createKernel } from '../../src/index.js';
import { compilePrograms } from '../support/crash/compile-programs.js';
import { Program } from '../support/crash/program.js';
import { oldLayout } from '../support/storage/old-layout.js';

let programs = '';
beforeAll(async () => {
  programs = await compilePrograms();
});

function start(store: string, killAt: number): Program {
  return new Program(join(programs, 'mover.js'), store, String(killAt));
}

describe('moving key, checkpoints and output into the state folder', () => {
  it.each([1, 2, 3])('goes on at the next opening when the program is killed after move %i', async (killAt) => {
    const { store, key } = await oldLayout();
    const program = start(store, killAt);
    await program.waitForLine((line) => line === 'ready');
    program.send('go');
    expect(await program.waitForEnd()).toBe(false);
    expect(readdirSync(`${store}.state`)).toHaveLength(killAt);
    const kernel = await createKernel({ logger: 'silent', store });
    expect((await kernel.audit.checkpoint()).key).toBe(key);
    expect(await kernel.audit.verify()).toMatchObject({ ok: true });
    await kernel.shutdown();
    expect(readdirSync(`${store}.state`).sort()).toEqual(['checkpoints', 'key', 'output']);
    for (const suffix of ['key', 'checkpoints', 'output']) expect(existsSync(`${store}.${suffix}`)).toBe(false);
  });

  it('loses no key when several programs open the store at once', async () => {
    const { store, key } = await oldLayout();
    const started = Array.from({ length: 4 }, () => start(store, 0));
    for (const program of started) await program.waitForLine((line) => line === 'ready');
    for (const program of started) program.send('go');
    for (const program of started) {
      expect(await program.waitForLine((line) => line.startsWith('key '))).toBe(`key ${key}`);
      await program.expectSuccess();
    }
    expect(readdirSync(`${store}.state`).sort()).toEqual(['checkpoints', 'key', 'output']);
  });
});
