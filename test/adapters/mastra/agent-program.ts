import { appendFileSync } from 'node:fs';
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';
import { createKernel, defineImage, type Syscalls } from '../../../src/index.js';
import { governedModel } from '../../../src/integrations/ai-sdk/index.js';
import { governTools } from '../../../src/integrations/mastra/index.js';
import { type ScriptedTurn, scriptedModel } from '../../support/integrations/scripted-model.js';

/**
 * An agent of Mastra with a governed model as the body of a process. What the model is asked and what the tool does is
 * appended to a file. In the turn `hangAt` the model does not answer.
 */
const [store = '', log = '', hangAt = ''] = process.argv.slice(2);
const write = (line: string) => appendFileSync(log, `${line}\n`);

const note = createTool({
  id: 'note',
  description: 'Writes a line.',
  inputSchema: z.object({ line: z.string() }),
  execute: async ({ line }) => {
    write(`note ${line}`);
    return { noted: true };
  },
});
const script: readonly ScriptedTurn[] = [
  { calls: [['note', { line: 'one' }]] },
  { calls: [['note', { line: 'two' }]] },
  'all noted',
];

function durableModel(ctx: Syscalls) {
  const model = scriptedModel(async ({ prompt }) => {
    const turn = prompt.filter(({ role }) => role === 'tool').length;
    write(`ask ${turn}`);
    if (String(turn) === hangAt) await new Promise(() => undefined);
    return script[turn] ?? 'no turn is left';
  });
  return governedModel(ctx, model);
}

const image = defineImage({
  name: 'noter',
  recoveriesMax: 100,
  run: async (ctx) => {
    const tools = toolsOf(ctx);
    const agent = new Agent({ id: 'a', name: 'a', instructions: 'Note.', model: durableModel(ctx) as never, tools });
    return (await agent.generate('go', { maxSteps: 6 })).text;
  },
});
const kernel = await createKernel({ logger: 'silent', store, images: [image], node: { leaseMs: 1_000, start: false } });
const toolsOf = governTools(kernel, { note }, { prefix: 'own' });
await kernel.start();
const pid = await kernel.processes.spawn({
  id: 'noter',
  image: 'noter',
  capabilities: [{ resource: ['tool:own.note', 'model:mock/scripted'], rights: ['call'] }],
});
const { value, outcome } = await kernel.processes.result(pid);
const { tokens } = await kernel.processes.budget(pid);
console.log(`result ${JSON.stringify({ value: value ?? outcome, tokens: tokens.used })}`);
await kernel.shutdown();
process.exit(0);
