import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { compilePrograms } from '../support/crash/compile-programs.js';
import { Program } from '../support/crash/program.js';
import { eventually } from '../support/eventually.js';
import { openKernel, tempFolder } from '../support/kernel.js';
import { isAlive } from '../support/os-processes.js';
import { findInconsistencies } from '../support/store-consistency.js';
import { testProgram as serverProgram } from '../support/tools/mcp-servers.js';

let programs = '';
beforeAll(async () => {
  programs = await compilePrograms();
});

describe('a kernel that is killed', () => {
  it('leaves no MCP server behind, nor what one has started', async () => {
    const store = join(tempFolder(), 'mcp.db');
    const [server = ''] = serverProgram('changing.mjs').args ?? [];
    const host = new Program(join(programs, 'mcp-host.js'), store, server);
    onTestFinished(() => host.kill());
    host.send('begin');
    const numbers: number[] = [];
    for (const name of ['pid', 'grandchild']) {
      numbers.push(Number((await host.waitForLine((line) => line.startsWith(name))).split(' ')[1]));
    }
    expect(numbers.map(isAlive)).toEqual([true, true]);
    await host.kill();
    await eventually(() => expect(numbers.map(isAlive)).toEqual([false, false]));
    const kernel = await openKernel({ store });
    const { items } = await kernel.processes.list({ name: 'mcp:s' });
    expect(items).toMatchObject([{ status: 'abandoned' }]);
    expect(kernel.tools.list().filter(({ name }) => name.startsWith('mcp/'))).toEqual([]);
    expect(await findInconsistencies(kernel)).toEqual([]);
  });
});
