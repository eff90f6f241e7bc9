import { z } from 'zod';
import type { Clock } from '../../base/clock.js';
import { timerMsMax } from '../../base/spec.js';
import type { CapabilitySpec } from '../../capability/holding/capability.js';
import { defineTool, type Tool, type ToolContext } from '../tool.js';

const sendArgs = z.strictObject({
  to: z.string().min(1).describe('The pid of your parent, a child, or a process that you may send to.'),
  message: z.json().describe('What is sent, as JSON.'),
});
const requestArgs = z.strictObject({
  resource: z.string().describe('What you want to use, as a pattern such as tool:search or fs:docs/**.'),
  rights: z.array(z.string()).min(1).describe('Such as ["call"] or ["read", "list"].'),
  constraints: z.record(z.string(), z.json()).describe('Limits on arguments that you accept.').optional(),
  uses: z.number().int().min(1).describe('How often, when a few times are enough.').optional(),
});

/** The tools for messages, requests for authority and the time. */
export function kernelTools(clock: Clock): Tool[] {
  return [
    defineTool({
      name: 'message.send',
      description: 'Sends a message to another process, which finds it in its mailbox.',
      effect: 'once',
      input: sendArgs,
      run: async ({ to, message }: z.output<typeof sendArgs>, { process }) => {
        await process.send(to, message);
        return { sent: true };
      },
    }),
    defineTool({
      name: 'capability.request',
      description:
        'Asks a person for authority that you do not have, and waits for the answer. Ask for no more than you need.',
      effect: 'idempotent',
      input: requestArgs,
      timeoutMs: timerMsMax,
      run: request,
    }),
    defineTool({
      name: 'clock.now',
      description: 'Tells the time, in milliseconds since 1970 and as text in UTC.',
      effect: 'pure',
      input: z.strictObject({}),
      run: () => {
        const now = clock.now();
        return { now, iso: new Date(now).toISOString() };
      },
    }),
  ];
}

async function request(spec: z.output<typeof requestArgs>, { process }: ToolContext) {
  const { id, resource, rights } = await process.capabilities.request(spec as object as CapabilitySpec);
  return { capability: id, resource, rights: [...rights] };
}
