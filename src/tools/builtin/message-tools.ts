import { z } from 'zod';
import { KernelError } from '../../base/errors.js';
import type { JsonObject } from '../../base/json.js';
import { timerMsMax } from '../../base/spec.js';
import { defineTool, type Tool, type ToolContext } from '../tool.js';

const sendArgs = z.strictObject({
  to: z.string().min(1).describe('The pid of your parent, a child, or a process that you may send to.'),
  message: z.json().describe('What is sent, as JSON.'),
});
const receiveArgs = z.strictObject({
  from: z.string().min(1).describe('Only a message of this process, or of the host.').optional(),
  timeoutMs: z
    .number()
    .int()
    .min(0)
    .max(timerMsMax)
    .default(60_000)
    .describe('Answers with received: false when nothing comes within this time; 0 looks only.'),
});

/** The tools for messages of other processes. */
export function messageTools(): Tool[] {
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
      name: 'message.receive',
      description: 'Takes the oldest message out of your mailbox, or waits for the next that comes.',
      effect: 'once',
      input: receiveArgs,
      timeoutMs: timerMsMax,
      run: receive,
    }),
  ];
}

/** Handles in a message become the ids of their objects when the result is made JSON. */
async function receive(
  { from, timeoutMs }: z.output<typeof receiveArgs>,
  { process, signal }: ToolContext,
): Promise<JsonObject> {
  try {
    const message = await process.receive({ timeoutMs, signal, ...(from === undefined ? {} : { from }) });
    return { received: true, message: message as object as JsonObject };
  } catch (error) {
    if (error instanceof KernelError && error.code === 'WAIT_TIMEOUT') return { received: false };
    throw error;
  }
}
