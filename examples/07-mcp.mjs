/* Tools of an MCP server, gated like any other: which of them, with which paths, how often. */
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createKernel, defineImage } from 'procura';

const workspace = realpathSync(mkdtempSync(join(tmpdir(), 'procura-example-')));
const [tides, wages] = ['tides.txt', 'wages.txt'].map((name) => join(workspace, name));
writeFileSync(tides, 'Tides rise.');

const reader = defineImage({
  name: 'reader',
  run: async (ctx) => {
    const tried = [];
    const attempt = async (tool, args) => {
      const told = ({ code, facts }) => `${code} ${facts.code ?? facts.dimension}`;
      tried.push(`${tool}: ${await ctx.tools.call(`mcp/files/${tool}`, args).then(JSON.stringify, told)}`);
    };
    for (const path of [tides, wages]) await attempt('read_text_file', { path });
    await attempt('write_file', { path: tides, content: 'Tides fall.' });
    for (const path of [tides, tides]) await attempt('read_text_file', { path });
    return tried;
  },
});

const kernel = await createKernel({ workspace, images: [reader] });
const home = dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/server-filesystem/package.json'));
const program = { command: process.execPath, args: [join(home, 'dist/index.js'), workspace] };
const { tools } = await kernel.tools.connectMcp('files', program);
console.log(`The server has ${tools.length} tools, such as ${tools[0].name}.`);
const constraints = { path: { path: 'tides.txt' } };
const readTides = { resource: 'tool:mcp/files/read_text_file', rights: ['call'], constraints };
const pid = await kernel.processes.spawn({ image: 'reader', capabilities: [readTides], budget: { toolCalls: 2 } });
for (const line of (await kernel.processes.result(pid)).value) console.log(line);
await kernel.shutdown();
rmSync(workspace, { recursive: true });
