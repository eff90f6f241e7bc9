import { z } from 'zod';
import { timerMsMax } from '../../base/spec.js';
import { redactArguments } from '../../command/plan/redaction.js';
import type { CommandResult } from '../../kernel/command/command.js';
import { defineTool, type Tool } from '../tool.js';

const timeoutMsDefault = 120_000;

const input = z.strictObject({
  argv: z
    .array(z.string())
    .min(1)
    .describe('The program and its arguments, each as an item of its own. No shell looks at them.'),
  cwd: z.string().describe('The folder to run it in; default: your own.').optional(),
  timeoutMs: z
    .number()
    .int()
    .min(1)
    .max(timerMsMax)
    .default(timeoutMsDefault)
    .describe('It is stopped after this many milliseconds.'),
});
type Args = z.output<typeof input>;

/** Runs a program. The right to do so is asked where every command is started, whoever starts it. */
export function commandRunTool(): Tool {
  return defineTool<Args, ReturnType<typeof toToolResult>>({
    name: 'command.run',
    description:
      'Runs a program and gives its exit code and what it has written; of long output the beginning and the end.',
    effect: 'once',
    input,
    shown: ({ argv, cwd, timeoutMs }) => ({ argv: redactArguments(argv), timeoutMs, ...optionalCwd(cwd) }),
    timeoutMs: timerMsMax,
    run: async ({ argv, cwd, timeoutMs }, { process }) =>
      toToolResult(await process.run({ argv, timeoutMs, ...optionalCwd(cwd) })),
  });
}

function optionalCwd(cwd: string | undefined): { cwd?: string } {
  return cwd === undefined ? {} : { cwd };
}

/** Where its files lie concerns the host. */
function toToolResult({ outputFile: _output, errorFile: _error, ...result }: CommandResult) {
  return { ...result };
}
