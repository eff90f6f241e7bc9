import path from 'node:path';
import { z } from 'zod';
import { timerMsMax } from '../../base/spec.js';
import { redactArguments } from '../../command/plan/redaction.js';
import { type CommandResult, commandTimeoutMsDefault } from '../../kernel/command/command.js';
import { defineTool, type Tool } from '../tool.js';

const given = z.strictObject({
  argv: z
    .array(z.string())
    .min(1)
    .describe('The program and its arguments, each as an item of its own. No shell looks at them.'),
  cwd: z.string().describe('The folder to run it in; default: your own.').optional(),
  env: z
    .record(z.string(), z.strictObject({ secret: z.string() }))
    .describe('Variables of its environment whose values are secrets: { "TOKEN": { "secret": "NAME" } }.')
    .optional(),
  timeoutMs: z
    .number()
    .int()
    .min(1)
    .max(timerMsMax)
    .optional()
    .describe('It is stopped after this many milliseconds; default 120,000, in the background: no limit.'),
  background: z
    .boolean()
    .describe('Answers at once with its pid. Read its output with command.output; its end comes as a message.')
    .optional(),
});
type Args = z.output<typeof given>;
/** A command that nobody waits for runs until it is stopped. */
const input = given.transform((args): Args => {
  if (args.timeoutMs !== undefined || args.background === true) return args;
  return { ...args, timeoutMs: commandTimeoutMsDefault };
});

/** Runs a program. It declares no resources: `process.run` itself requires the right to call the command. */
export function commandRunTool(): Tool {
  return defineTool({
    name: 'command.run',
    description:
      'Runs a program and gives its exit code and what it has written; of long output the beginning and the end.',
    effect: 'once',
    input,
    paths: ['cwd'],
    shown: ({ argv, cwd, env, timeoutMs, background }) => ({
      argv: redactArguments(argv),
      ...optionalLimit(timeoutMs),
      ...(background === true ? { background } : {}),
      ...optionalCwd(cwd),
      ...optionalEnv(env),
    }),
    timeoutMs: timerMsMax,
    // Absolute, so that it is the folder that was decided on also after a change of the working directory.
    run: async ({ argv, cwd, env, timeoutMs, background }, { process, workspace }) => {
      const spec = {
        argv,
        ...optionalLimit(timeoutMs),
        ...optionalCwd(cwd === undefined ? cwd : path.join(workspace, cwd)),
        ...optionalEnv(env),
      };
      if (background === true) return { ...(await process.run({ ...spec, background })) };
      return withoutPaths(await process.run(spec));
    },
  });
}

function optionalLimit(timeoutMs: number | undefined): { timeoutMs?: number } {
  return timeoutMs === undefined ? {} : { timeoutMs };
}

function optionalCwd(cwd: string | undefined): { cwd?: string } {
  return cwd === undefined ? {} : { cwd };
}

function optionalEnv(env: Args['env']): { env?: NonNullable<Args['env']> } {
  return env === undefined ? {} : { env };
}

/** Without the paths of the output files, which are of the host. */
function withoutPaths({ outputFile: _output, errorFile: _error, ...result }: CommandResult) {
  return { ...result };
}
