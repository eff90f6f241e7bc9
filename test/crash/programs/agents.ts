import { appendFileSync } from 'node:fs';
import { stepCountIs, streamText } from 'ai';
import { z } from 'zod';
import {
  type CapabilitySpec,
  createKernel,
  defineImage,
  defineTool,
  Store,
  type Syscalls,
} from '../../../src/index.js';
import { agentImage, governedModel, toolsFor } from '../../../src/integrations/ai-sdk/index.js';
import { chatModel } from '../../support/integrations/chat-server.js';
import { killAtWrite } from './fault-point.js';
import { nextLine, print, stopListening } from './stdio.js';

/**
 * An agent with three agents below it, and a fourth one after them, which it starts and waits for with the kernel's own tools.
 * They are made by `agentImage`, or loops of the SDK's `streamText` on a governed model. Their model is on the server at `url`;
 * what they note is appended to a file.
 */
const [store = '', log = '', url = '', kind = '', killAt = '', when = ''] = process.argv.slice(2);
const callModel: CapabilitySpec = { resource: 'model:**', rights: ['call'] };
const callTools: CapabilitySpec = { resource: 'tool:**', rights: ['call'] };

const noteTool = defineTool({
  name: 'note',
  description: 'Writes a line.',
  effect: 'once',
  input: z.strictObject({ line: z.string() }),
  run: ({ line }: { line: string }) => appendFileSync(log, `${line}\n`),
});

print('ready');
await nextLine();
const model = chatModel(url);
// It may be killed more often in a row than a process is given.
const recoveriesMax = 1_000;
const images =
  kind === 'agentImage'
    ? [
        agentImage({ name: 'lead', model, recoveriesMax }),
        agentImage({ name: 'worker', model, tools: ['note'], recoveriesMax }),
      ]
    : ['lead', 'worker'].map((name) => defineImage({ name, recoveriesMax, run: streamAnswer }));

async function streamAnswer(ctx: Syscalls) {
  const { payload } = await ctx.memory.read(ctx.goal);
  const result = streamText({
    model: governedModel(ctx, model),
    prompt: (payload as { text: string }).text,
    tools: await toolsFor(ctx, { granted: true }),
    stopWhen: stepCountIs(20),
  });
  const steps = await result.steps;
  return { text: steps.at(-1)?.text ?? '', turns: steps.length, finishReason: 'stop' };
}
const kernel = await createKernel({ logger: 'silent', store, images, tools: [noteTool], node: { leaseMs: 1_000 } });
if (killAt !== '') killAtWrite(kernel.container.get(Store), Number(killAt), when);
print('open');
const pid = await kernel.processes.spawn({
  id: 'agents',
  image: 'lead',
  name: 'lead',
  goal: 'lead',
  capabilities: [callModel, callTools].map((spec) => ({ ...spec, delegable: true })),
});
const { value, outcome } = await kernel.processes.result(pid);
print(`result ${JSON.stringify(value ?? outcome)}`);
await kernel.shutdown();
stopListening();
