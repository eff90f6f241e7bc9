import { appendFileSync } from 'node:fs';
import { Agent, tool } from '@openai/agents-core';
import { z } from 'zod';
import { createKernel } from '../../../src/index.js';
import { agentImage, governTools } from '../../../src/integrations/openai-agents/index.js';
import { workers } from '../../support/crash/team-scripts.js';
import { ServerModel } from '../../support/integrations/agents-chat-model.js';
import { runTeam } from './run-team.js';
import { nextLine, print } from './stdio.js';

/**
 * An agent of the OpenAI Agents SDK with four others as its tools, each of which runs as a child. Their model is on the server at
 * `url`; what they note is appended to a file.
 */
const [store = '', log = '', url = '', , killAt = '', when = ''] = process.argv.slice(2);

const note = tool({
  name: 'note',
  description: 'Writes a line.',
  parameters: z.object({ line: z.string() }),
  execute: async ({ line }) => {
    appendFileSync(log, `${line}\n`);
    return 'noted';
  },
});

print('ready');
await nextLine();
const model = new ServerModel(url);
const asTools = workers.map((name) =>
  new Agent({ name, model, tools: [note] }).asTool({ toolName: name, toolDescription: `Knows ${name}.` }),
);
const lead = new Agent({ name: 'lead', model, tools: [note, ...asTools] });
const image = agentImage({ agent: lead, recoveriesMax: 1_000 });
const kernel = await createKernel({ logger: 'silent', store, images: [image], node: { leaseMs: 1_000, start: false } });
governTools(kernel, [note], { prefix: 'own' });
await runTeam(kernel, killAt, when);
