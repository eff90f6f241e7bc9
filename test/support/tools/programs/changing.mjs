/**
 * A server of tools that changes them, fails, crashes, takes its time and starts others. With `--modern` it refuses what is older than 2026, and it
 * writes what happens to it into LOG_FILE.
 */
import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const log = process.env.LOG_FILE;
const note = (line) => log !== undefined && appendFileSync(log, `${line}\n`);
const text = (value) => ({ content: [{ type: 'text', text: String(value) }] });

function make() {
  note(`start ${process.pid}`);
  const server = new McpServer(
    { name: 'changing', version: '1.0.0' },
    { capabilities: { tools: { listChanged: true } } },
  );
  const tool = (name, run, inputSchema = z.object({})) =>
    server.registerTool(name, { description: `Does ${name}.`, inputSchema }, run);
  const extra = tool('extra', () => text('extra'));
  extra.disable();
  tool('grow', () => text(extra.enable() ?? 'grown'));
  tool('shrink', () => text(extra.disable() ?? 'shrunk'));
  const narrower = { paramsSchema: z.object({ n: z.number() }), callback: ({ n }) => text(n) };
  tool('change', () => text(extra.update(narrower) ?? 'changed'));
  tool('pid', () => text(process.pid));
  tool('crash', () => process.exit(3));
  tool('fail', () => ({ ...text('the disk is full'), isError: true }));
  tool('throw', () => {
    throw new Error('out of order');
  });
  tool('big', ({ bytes }) => text('x'.repeat(bytes)), z.object({ bytes: z.number() }));
  tool(
    'parts',
    ({ bytes }) => ({
      content: [
        { type: 'text', text: 'first' },
        { type: 'image', data: 'A'.repeat(bytes), mimeType: 'image/png' },
        { type: 'text', text: 'y'.repeat(bytes) },
        { type: 'text', text: 'last' },
      ],
    }),
    z.object({ bytes: z.number() }),
  );
  tool(
    'wait',
    (_args, { mcpReq }) =>
      new Promise((resolve) => {
        note('waiting');
        mcpReq.signal.addEventListener('abort', () => {
          note('cancelled');
          resolve(text('cancelled'));
        });
      }),
  );
  tool('grandchild', () => {
    const program = "process.on('SIGTERM', () => {}); process.send('ready'); setInterval(() => {}, 1000)";
    const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
    return new Promise((resolve) => child.once('message', () => resolve(text(child.pid))));
  });
  return server;
}

serveStdio(make, { legacy: process.argv.includes('--modern') ? 'reject' : 'serve' });
