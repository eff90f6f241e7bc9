import { statSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { eventually } from '../../support/eventually.js';
import { mcpFixture, testProgram } from '../../support/tools/mcp-servers.js';

const mebibyte = 1024 * 1024;

describe('the standard error of a server', () => {
  it('is kept in a file of a few megabytes, with its newest part', async () => {
    const { kernel, call } = await mcpFixture();
    const connection = await kernel.tools.connectMcp('s', testProgram('noisy.mjs'));
    const [process] = (await kernel.processes.list({ name: 'mcp:s' })).items;
    const pid = process?.pid ?? '';
    const stderr = async () => kernel.processes.readOutput(pid, { stream: 'stderr', offset: 0 });
    expect(await call('mcp/s/flood', { bytes: 100 })).toEqual({ text: 'flooded' });
    await eventually(async () => expect((await stderr()).text).toMatch(/^e{1023}\nthe last line\n$/));
    const sizes: number[] = [];
    const watch = setInterval(async () => sizes.push((await stderr()).size), 5);
    expect(await call('mcp/s/flood', { bytes: 40 * mebibyte })).toEqual({ text: 'flooded' });
    clearInterval(watch);
    const last = await eventually(async () => {
      const { size } = await stderr();
      const { text } = await kernel.processes.readOutput(pid, { stream: 'stderr', offset: size - 14 });
      expect(text).toBe('the last line\n');
      return size;
    });
    expect((await stderr()).text).toMatch(/^\[… \d+ bytes …\]\n/);
    expect(Math.max(last, ...sizes)).toBeLessThanOrEqual(4 * mebibyte + 100);
    await connection.close();
    const { errorFile } = (await kernel.processes.result(pid)) as unknown as { errorFile?: string };
    if (errorFile !== undefined) expect(statSync(errorFile).size).toBeLessThanOrEqual(4 * mebibyte + 100);
  });
});

describe('a server that changes its list all the time', () => {
  it('has one record in ten seconds, and one at its end', async () => {
    const { kernel, call } = await mcpFixture();
    const connection = await kernel.tools.connectMcp('s', testProgram('noisy.mjs', '--restless'));
    const changes = async () => (await kernel.audit.list({ action: 'mcp.change' })).items;
    const events = async () => (await kernel.events.list({ types: ['tools.changed'] })).items;
    await eventually(async () => expect((await events()).length).toBeGreaterThanOrEqual(4));
    const announced = Number(((await call('mcp/s/changes')) as { text: string }).text);
    expect(announced).toBeGreaterThan((await events()).length);
    expect(await changes()).toHaveLength(1);
    await connection.close();
    const records = await changes();
    expect(records).toHaveLength(2);
    const told = (await events())
      .slice(1, -1)
      .reduce((sum, { data }) => sum + Number((data as { added: number }).added), 0);
    expect(records.reduce((sum, { facts }) => sum + Number(facts?.added), 0)).toBe(told);
  });
});
