import { appendFileSync } from 'node:fs';
import { Agent, type ModelRequest, tool } from '@openai/agents-core';
import type { ScriptedModel } from '@openai/agents-core/testing';
import { z } from 'zod';
import { type CapabilitySpec, createKernel } from '../../../src/index.js';
import { agentImage, governTools } from '../../../src/integrations/openai-agents/index.js';
import { type AgentsTurn, scriptedAgentsModel } from '../../support/integrations/scripted-agents-model.js';
import { nextLine, print, stopListening } from './stdio.js';

/**
 * An agent of the OpenAI Agents SDK with another one as its tool. What their models are asked and what their tool does is
 * appended to a file. The model named in `hangAt` does not answer, as `lead 2` for the third turn of the lead.
 */
const [store = '', log = '', hangAt = ''] = process.argv.slice(2);
const write = (line: string) => appendFileSync(log, `${line}\n`);

const note = tool({
  name: 'note',
  description: 'Writes a line.',
  parameters: z.object({ line: z.string() }),
  execute: async ({ line }) => {
    write(`note ${line}`);
    return 'noted';
  },
});

/** The model of an agent, which writes down what it is asked. */
function modelOf(name: string, script: readonly AgentsTurn[]): ScriptedModel {
  const model = scriptedAgentsModel(script);
  const getResponse = model.getResponse.bind(model);
  return Object.assign(model, {
    getResponse: (request: ModelRequest) => {
      const items = typeof request.input === 'string' ? [] : request.input;
      const asked = `${name} ${items.filter(({ type }) => type === 'function_call').length}`;
      write(`ask ${asked}`);
      return asked === hangAt ? new Promise<never>(() => undefined) : getResponse(request);
    },
  });
}

print('ready');
await nextLine();
const researcher = new Agent({
  name: 'researcher',
  model: modelOf('researcher', [{ calls: [['note', { line: 'of the researcher' }]] }, 'tides come twice a day']),
  tools: [note],
});
const lead = new Agent({
  name: 'lead',
  model: modelOf('lead', [
    { calls: [['note', { line: 'of the lead' }]] },
    { calls: [['research', { input: 'tides' }]] },
    'the tides are known',
  ]),
  tools: [note, researcher.asTool({ toolName: 'research', toolDescription: 'Finds out.' })],
});
const callAll = ['tool:**', 'model:openai-agents/**'].map(
  (resource): CapabilitySpec => ({ resource, rights: ['call'], delegable: true }),
);
const kernel = await createKernel({
  logger: 'silent',
  store,
  images: [agentImage({ agent: lead, recoveriesMax: 100 })],
  node: { leaseMs: 1_000, start: false },
});
governTools(kernel, [note], { prefix: 'own' });
await kernel.start();
const pid = await kernel.processes.spawn({ id: 'lead', image: 'lead', goal: 'tides', capabilities: callAll });
const { value, outcome } = await kernel.processes.result(pid);
const { tokens } = await kernel.processes.budget(pid);
print(`result ${JSON.stringify({ value: value ?? outcome, tokens: tokens.used })}`);
await kernel.shutdown();
stopListening();
