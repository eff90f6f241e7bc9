/**
 * A server that says what a file tells it to: `pages` of tools, and `results` of calls by name. It is written without a
 * package, so that it can say things that no package would. It says nothing before there is a file `waitFor`, and ends at
 * once while there is no file `needs`.
 */
import { existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const { pages, results = {}, waitFor, needs } = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'));
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'listing', version: '1.0.0' },
  }),
  'tools/list': ({ cursor = '0' }) => ({
    tools: pages[Number(cursor)] ?? [],
    ...(Number(cursor) + 1 < pages.length ? { nextCursor: String(Number(cursor) + 1) } : {}),
  }),
  'tools/call': ({ name }) => results[name] ?? { content: [{ type: 'text', text: `called ${name}` }] },
};

if (needs !== undefined && !existsSync(needs)) process.exit(1);
while (waitFor !== undefined && !existsSync(waitFor)) await sleep(10);
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = answers[method];
  const body =
    answer === undefined ? { error: { code: -32601, message: 'no such method' } } : { result: answer(params) };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...body })}\n`);
}
