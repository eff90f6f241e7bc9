import { z } from 'zod';
import { KernelError, type ProcessFace } from '../../index.js';
import { isStillPaused } from './answers.js';
import { additive, json, type McpTool, mcpTool, waitMs } from './mcp-tool.js';

/** The tools for messages from and to other processes. */
export function messageTools(face: ProcessFace): McpTool[] {
  return [
    mcpTool({
      name: 'send',
      description:
        'Puts a message into the mailbox of another process: a child, your parent, or one that you hold the right send on.',
      input: z.strictObject({
        to: z.string().describe('The pid of the receiver.'),
        message: json.describe('Any JSON.'),
      }),
      hints: additive,
      run: async ({ to, message }) => {
        await face.send(to, message);
        return { to, sent: true };
      },
    }),
    mcpTool({
      name: 'receive',
      description:
        'Takes the oldest message out of your mailbox, or waits for the next that comes. Each message is received once.',
      input: z.strictObject({
        from: z.string().describe('Only what this process has sent.').exactOptional(),
        timeoutMs: waitMs,
      }),
      hints: additive,
      run: async ({ timeoutMs, ...from }, signal) => receiveMessage(face, { ...from, timeoutMs, signal }),
    }),
  ];
}

async function receiveMessage(face: ProcessFace, options: { from?: string; timeoutMs: number; signal: AbortSignal }) {
  try {
    return { received: true, ...(await face.receive(options)) };
  } catch (error) {
    if (!(error instanceof KernelError) || error.code !== 'WAIT_TIMEOUT' || isStillPaused(error)) throw error;
    return { received: false, note: `No message has come within ${options.timeoutMs} ms. Call receive again.` };
  }
}
