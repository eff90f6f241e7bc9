import { appendFileSync } from 'node:fs';
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';
import { createKernel, defineImage, type Syscalls } from '../../../src/index.js';
import { governedModel, toolsFor } from '../../../src/integrations/ai-sdk/index.js';
import { governTools } from '../../../src/integrations/mastra/index.js';
import { runTeam } from '../../crash/programs/run-team.js';
import { nextLine, print } from '../../crash/programs/stdio.js';
import { chatModel } from '../../support/integrations/chat-server.js';

/**
 * An agent of Mastra with three agents below it, and a fourth one after them, which it starts and waits for with the kernel's own
 * tools. Their model is on the server at `url`; what they note is appended to a file.
 */
const [store = '', log = '', url = '', , killAt = '', when = ''] = process.argv.slice(2);

const note = createTool({
  id: 'note',
  description: 'Writes a line.',
  inputSchema: z.object({ line: z.string() }),
  execute: async ({ line }) => {
    appendFileSync(log, `${line}\n`);
    return { noted: true };
  },
});

async function runAgent(ctx: Syscalls) {
  const { payload } = await ctx.memory.read(ctx.goal);
  const model = governedModel(ctx, chatModel(url)) as never;
  const kernelTools = await toolsFor(ctx, { only: ['process.spawn', 'process.wait'] });
  const tools = { ...toolsOf(ctx), ...kernelTools } as never;
  const agent = new Agent({ id: 'agent', name: 'agent', instructions: 'Work.', model, tools });
  const { steps } = await agent.generate((payload as { text: string }).text, { maxSteps: 20 });
  return { text: steps.at(-1)?.text ?? '' };
}

print('ready');
await nextLine();
const images = ['lead', 'worker'].map((name) => defineImage({ name, recoveriesMax: 1_000, run: runAgent }));
const kernel = await createKernel({ logger: 'silent', store, images, node: { leaseMs: 1_000, start: false } });
const toolsOf = governTools(kernel, { note }, { prefix: 'own' });
await runTeam(kernel, killAt, when);
process.exit(0);
