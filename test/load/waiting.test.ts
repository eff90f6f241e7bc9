import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { builtPackage } from '../support/built-package.js';
import { Program } from '../support/crash/program.js';
import { tempFolder } from '../support/kernel.js';

const count = 10_000;
const bytesMax = 100_000_000;

const program = fileURLToPath(new URL('waiting.mjs', import.meta.url));

describe(`${count} processes that wait`, () => {
  it('take less than 100 MB, write nothing while they wait, and are all released at the end', {
    timeout: 180_000,
  }, async () => {
    const store = join(tempFolder(), 'waiting.db');
    const library = join(await builtPackage(), 'dist/index.js');
    const run = new Program('--expose-gc', program, library, store, String(count));
    await run.expectSuccess();
    const output = Object.fromEntries(run.lines.map((line) => line.split(' ') as [string, string]));
    expect(output).toEqual({ waiting: `${count}`, bytes: expect.any(String), records: '0', released: `${count}` });
    expect(Number(output.bytes)).toBeLessThan(bytesMax);
  });
});
