import { createKernel } from '../../../src/index.js';
import { nextLine, print } from './stdio.js';

/** A kernel that connects an MCP server, tells the numbers of its programs, and does nothing until it is killed. */
const [store = '', server = ''] = process.argv.slice(2);
print('ready');
await nextLine();
const kernel = await createKernel({ logger: 'silent', store, durability: 'normal' });
await kernel.tools.connectMcp('s', { command: process.execPath, args: [server] });
const pid = await kernel.processes.spawn({ capabilities: [{ resource: 'tool:mcp/s/**', rights: ['call'] }] });
for (const name of ['pid', 'grandchild']) {
  const { text } = (await kernel.as(pid).tools.call(`mcp/s/${name}`)) as { text: string };
  print(`${name} ${text}`);
}
await nextLine();
