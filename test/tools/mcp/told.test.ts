import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { eventually } from '../../support/eventually.js';
import { mcpFixture, testProgram } from '../../support/tools/mcp-servers.js';

describe('the logger is told', () => {
  it('of a server that is lost, that is there again, and that is closed because its process was stopped', async () => {
    const { kernel, call, warnings } = await mcpFixture();
    await kernel.tools.connectMcp('s', testProgram('changing.mjs'));
    expect(warnings).toEqual([]);
    const { text } = (await call('mcp/s/pid')) as { text: string };
    process.kill(Number(text), 'SIGKILL');
    await eventually(() => expect(warnings).toHaveLength(2));
    expect(warnings).toEqual([
      { message: 'MCP server s was lost: its program is started again', facts: { server: 's' } },
      { message: 'MCP server s is connected again', facts: { server: 's' } },
    ]);
    const { items } = await kernel.processes.list({ status: 'running' });
    await kernel.processes.kill(items.find(({ name }) => name === 'mcp:s')?.pid ?? '');
    await eventually(() => expect(warnings).toHaveLength(3));
    expect(warnings[2]?.message).toBe('MCP server s was closed: its process was stopped');
  });

  it('on standard error also of servers that the host connects and closes', async () => {
    let text = '';
    const spy = vi.spyOn(process.stderr, 'write').mockImplementation((chunk) => {
      text += String(chunk);
      return true;
    });
    onTestFinished(() => spy.mockRestore());
    const { kernel } = await mcpFixture({ logger: 'console' });
    const connection = await kernel.tools.connectMcp('s', testProgram('changing.mjs'));
    await connection.close();
    await kernel.tools.connectMcp('t', testProgram('changing.mjs'));
    await kernel.shutdown();
    expect(text.split('\n')).toEqual([
      expect.stringMatching(/^procura: info: MCP server s is connected \{"server":"s","tools":\d+\}$/),
      'procura: info: MCP server s was closed {"server":"s"}',
      expect.stringMatching(/^procura: info: MCP server t is connected /),
      '',
    ]);
  });
});
