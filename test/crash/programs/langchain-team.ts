import { appendFileSync } from 'node:fs';
import { type BaseMessage, createAgent, tool } from 'langchain';
import { z } from 'zod';
import { createKernel, defineImage, type Syscalls } from '../../../src/index.js';
import { governTools, invokeAgent, procuraMiddleware, toolsFor } from '../../../src/integrations/langchain/index.js';
import { ServerChatModel } from '../../support/integrations/langchain-chat-model.js';
import { runTeam } from './run-team.js';
import { nextLine, print } from './stdio.js';

/**
 * A LangChain agent with three agents below it, and a fourth one after them, which it starts and waits for with the kernel's own
 * tools. Their model is on the server at `url`; what they note is appended to a file.
 */
const [store = '', log = '', url = '', , killAt = '', when = ''] = process.argv.slice(2);

const note = tool(
  ({ line }: { line: string }) => {
    appendFileSync(log, `${line}\n`);
    return 'noted';
  },
  { name: 'note', description: 'Writes a line.', schema: z.object({ line: z.string() }) },
);

async function runAgent(ctx: Syscalls) {
  const { payload } = await ctx.memory.read(ctx.goal);
  const agent = createAgent({
    model: new ServerChatModel(url),
    tools: [note, ...(await toolsFor(ctx, { only: ['process.spawn', 'process.wait'] }))],
    middleware: [procuraMiddleware(ctx, { prefix: 'own' })],
  });
  const content = (payload as { text: string }).text;
  const { messages } = await invokeAgent(ctx, agent, { messages: [{ role: 'user', content }] });
  return { text: (messages as BaseMessage[]).at(-1)?.text ?? '' };
}

print('ready');
await nextLine();
const images = ['lead', 'worker'].map((name) => defineImage({ name, recoveriesMax: 1_000, run: runAgent }));
const kernel = await createKernel({ logger: 'silent', store, images, node: { leaseMs: 1_000, start: false } });
governTools(kernel, [note], { prefix: 'own' });
await runTeam(kernel, killAt, when);
