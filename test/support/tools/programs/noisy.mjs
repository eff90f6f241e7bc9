/**
 * A server with one tool, `flood`, which writes as many bytes to standard error as it is asked for and then a last line. With
 * `--restless` it announces another list of tools ten times a second.
 */
import { once } from 'node:events';
import { createInterface } from 'node:readline';

const inputSchema = { type: 'object' };
let changes = 0;
const text = (value) => ({ content: [{ type: 'text', text: String(value) }] });

async function flood(bytes) {
  const line = `${'e'.repeat(1023)}\n`;
  for (let written = 0; written < bytes; written += line.length) {
    if (!process.stderr.write(line)) await once(process.stderr, 'drain');
  }
  await new Promise((resolve) => process.stderr.write('the last line\n', resolve));
  return text('flooded');
}

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: 'noisy', version: '1.0.0' },
  }),
  'tools/list': () => ({
    tools: [
      { name: 'flood', inputSchema },
      { name: 'changes', inputSchema },
      { name: `t${changes}`, inputSchema },
    ],
  }),
  'tools/call': ({ name, arguments: args }) => (name === 'flood' ? flood(args.bytes) : text(changes)),
};
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

if (process.argv.includes('--restless')) {
  setInterval(() => {
    changes++;
    send({ method: 'notifications/tools/list_changed' });
  }, 100).unref();
}
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = answers[method];
  if (answer === undefined) send({ id, error: { code: -32601, message: 'no such method' } });
  else send({ id, result: await answer(params) });
}
