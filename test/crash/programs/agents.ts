import { appendFileSync } from 'node:fs';
import { z } from 'zod';
import { type CapabilitySpec, createKernel, defineTool, Store } from '../../../src/index.js';
import { agentImage } from '../../../src/integrations/ai-sdk/index.js';
import { chatModel } from '../../support/integrations/chat-server.js';
import { killAtWrite } from './fault-point.js';
import { nextLine, print, stopListening } from './stdio.js';

/**
 * An agent with two agents below it, which it starts and waits for with the kernel's own tools. Their model is on the server at
 * `url`; what they note is appended to a file.
 */
const [store = '', log = '', url = '', killAt = '', when = ''] = process.argv.slice(2);
const callModel: CapabilitySpec = { resource: 'model:local/**', rights: ['call'] };
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
const images = [
  agentImage({ name: 'lead', model, recoveriesMax }),
  agentImage({ name: 'worker', model, tools: ['note'], recoveriesMax }),
];
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
