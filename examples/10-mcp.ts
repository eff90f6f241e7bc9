/* Tools of an MCP server pass the same gate: which of them, with which paths, how often. */
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createKernel, isKernelError } from 'procura';

const workspace = realpathSync(mkdtempSync(join(tmpdir(), 'procura-example-')));
const tides = join(workspace, 'tides.txt');
const wages = join(workspace, 'wages.txt');
writeFileSync(tides, 'Tides rise.');

const kernel = await createKernel({ workspace });
const home = dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/server-filesystem/package.json'));
const program = { command: process.execPath, args: [join(home, 'dist/index.js'), workspace] };
const connection = await kernel.tools.connectMcp('files', program);
console.log(`The server has ${connection.tools.length} tools, such as ${connection.tools[0]?.name}.`);

const constraints = { path: { path: 'tides.txt' } };
const reader = await kernel.processes.spawn({
  capabilities: [{ resource: 'tool:mcp/files/read_text_file', rights: ['call'], constraints }],
  budget: { toolCalls: 2 },
});
const { tools } = kernel.as(reader);
await attempt('read_text_file', { path: tides });
await attempt('read_text_file', { path: wages });
await attempt('write_file', { path: tides, content: 'Tides fall.' });
await attempt('read_text_file', { path: tides });
await attempt('read_text_file', { path: tides });
await kernel.shutdown();
rmSync(workspace, { recursive: true });

async function attempt(name: string, args: Record<string, string>): Promise<void> {
  try {
    console.log(`${name}: ${JSON.stringify(await tools.call(`mcp/files/${name}`, args))}`);
  } catch (error) {
    if (isKernelError(error, 'CAPABILITY_DENIED')) console.log(`${name}: ${error.code} ${error.facts.code}`);
    else if (isKernelError(error, 'BUDGET_EXCEEDED')) console.log(`${name}: ${error.code} ${error.facts.dimension}`);
    else throw error;
  }
}
