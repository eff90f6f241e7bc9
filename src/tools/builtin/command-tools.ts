import { z } from 'zod';
import { ProcessError } from '../../base/errors.js';
import { defineTool, type Tool, type ToolContext } from '../tool.js';
import { commandRunTool } from './command-run-tool.js';

const pid = z.string().min(1).describe('The pid of a command of yours, as command.run gave it.');
const outputArgs = z.strictObject({
  pid,
  after: z
    .number()
    .int()
    .min(0)
    .default(0)
    .describe('In bytes from the beginning: what an earlier answer gave as next.'),
  stream: z.enum(['stdout', 'stderr']).default('stdout'),
});
const stopArgs = z.strictObject({
  pid,
  graceMs: z.number().int().min(0).max(600_000).describe('The time that it has to end by itself.').optional(),
});

/** The tools for commands of the operating system. */
export function commandTools(): Tool[] {
  return [
    commandRunTool(),
    defineTool({
      name: 'command.output',
      description: 'Reads what a command has written so far, up to 64 KiB at a time, also after its end.',
      effect: 'pure',
      input: outputArgs,
      run: async ({ pid: command, after, stream }: z.output<typeof outputArgs>, { process }) => ({
        ...(await process.readOutput(command, { offset: after, stream })),
      }),
    }),
    defineTool({
      name: 'command.stop',
      description: 'Stops a command that runs in the background, and everything that it has started.',
      effect: 'idempotent',
      input: stopArgs,
      run: stop,
    }),
  ];
}

async function stop({ pid: command, graceMs }: z.output<typeof stopArgs>, { process }: ToolContext) {
  const { kind } = await process.get(command);
  if (kind !== 'command') throw noCommand(command, kind);
  const { delivered } = await process.cancel(command, 'command.stop', graceMs === undefined ? {} : { graceMs });
  return { stopped: delivered.length > 0 };
}

function noCommand(command: string, kind: string): ProcessError {
  return new ProcessError('INVALID_TRANSITION', `Process ${command} is no command.`, {
    facts: { pid: command, kind, event: 'stop' },
    hint: 'Name a process that command.run gave; process.signal stops other children.',
  });
}
