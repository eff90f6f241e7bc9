import { z } from 'zod';
import { KernelError } from '../../base/errors.js';
import type { JsonObject, JsonValue } from '../../base/json.js';
import { timerMsMax } from '../../base/spec.js';
import type { ChildSpec, ForkSpec } from '../../kernel/face/process-specs.js';
import type { ProcessRecord, ProcessResult } from '../../kernel/process/process.js';
import { controlSignals } from '../../kernel/signal/signal.js';
import { forkModes } from '../../memory/object/object.js';
import { defineTool, type Tool, type ToolContext } from '../tool.js';

const child = z.string().min(1).describe('The pid of a child, as process.spawn or process.list gave it.');

const spawnArgs = z.strictObject({
  image: z.string().describe('The image of the child, by name or name@version. Absent: yours.').optional(),
  goal: z.string().describe('What the child is to do, in plain words.').optional(),
  args: z.json().describe('The arguments that its image takes.').optional(),
  name: z.string().describe('A short name for people.').optional(),
  cwd: z.string().describe('Its working directory, relative to the workspace.').optional(),
  delegate: z
    .array(z.record(z.string(), z.json()))
    .describe('The capabilities it is handed: { resource, rights, constraints? }, never wider than your own.')
    .optional(),
  budget: z.record(z.string(), z.number()).describe('Limits such as { tokens, toolCalls, children }.').optional(),
  deadlineMs: z.number().describe('It is stopped after this many milliseconds.').optional(),
});
const forkArgs = spawnArgs.extend({
  mode: z
    .enum(forkModes)
    .describe(
      'restricted (the default): reads your memory as it is now; worker: as it will be; copy and speculative: may write to a copy.',
    )
    .optional(),
});
const waitArgs = z.strictObject({
  pid: child,
  timeoutMs: z
    .number()
    .int()
    .min(0)
    .describe('Answers with ended: false when it takes longer; default: waits.')
    .optional(),
});
const listArgs = z.strictObject({ live: z.boolean().describe('Only those that have not ended.').optional() });
const signalArgs = z.strictObject({
  pid: child,
  signal: z.enum(controlSignals).describe('cancel lets it end by itself, kill does not.'),
  reason: z.string().max(4096).optional(),
});

/** The tools for children. */
export function processTools(): Tool[] {
  return [
    defineTool({
      name: 'process.spawn',
      description:
        'Starts a child process, such as another agent, with a goal of its own. It can do only what you delegate to it. Answers with its pid; use process.wait for its result.',
      effect: 'idempotent',
      input: spawnArgs,
      run: spawn,
    }),
    defineTool({
      name: 'process.fork',
      description:
        'Starts a child process that knows what you know: it sees the objects of your memory. Otherwise as process.spawn. When it has ended, memory.merge takes over what it has changed.',
      effect: 'idempotent',
      input: forkArgs,
      run: fork,
    }),
    defineTool({
      name: 'process.wait',
      description: 'Waits until a child process has ended, and gives its outcome and its result.',
      effect: 'pure',
      input: waitArgs,
      timeoutMs: timerMsMax,
      run: wait,
    }),
    defineTool({
      name: 'process.list',
      description: 'Lists your child processes with their state.',
      effect: 'pure',
      input: listArgs,
      run: async ({ live = false }: z.output<typeof listArgs>, { process }) => {
        const children = await process.children();
        return { children: children.filter(({ exitedAt }) => !live || exitedAt === undefined).map(describeProcess) };
      },
    }),
    defineTool({
      name: 'process.signal',
      description: 'Pauses, resumes, cancels or kills a child process and everything under it.',
      effect: 'idempotent',
      input: signalArgs,
      run: signal,
    }),
  ];
}

async function spawn(args: z.output<typeof spawnArgs>, context: ToolContext): Promise<JsonValue> {
  return { pid: await context.process.spawnChild({ ...(args as object as ChildSpec), id: childIdOf(context) }) };
}

async function fork(args: z.output<typeof forkArgs>, context: ToolContext): Promise<JsonValue> {
  return { pid: await context.process.fork({ ...(args as object as ForkSpec), id: childIdOf(context) }) };
}

/** Made from the call, so that a call that is repeated finds the same child. */
function childIdOf({ idempotencyKey }: ToolContext): string {
  return `t-${idempotencyKey.slice(-16)}`;
}

async function wait({ pid, timeoutMs }: z.output<typeof waitArgs>, context: ToolContext): Promise<JsonValue> {
  const limit = timeoutMs === undefined ? {} : { timeoutMs };
  try {
    return describeResult(await context.process.wait(pid, { signal: context.signal, ...limit }));
  } catch (error) {
    if (error instanceof KernelError && error.code === 'WAIT_TIMEOUT') return { pid, ended: false };
    throw error;
  }
}

async function signal({ pid, signal: name, reason }: z.output<typeof signalArgs>, { process }: ToolContext) {
  const { delivered, unchanged, alreadyTerminal, stale, unavailable } = await process[name](pid, reason);
  return {
    delivered: [...delivered],
    unchanged: [...unchanged],
    alreadyTerminal: [...alreadyTerminal],
    stale: [...stale],
    unavailable: [...unavailable],
  };
}

function describeResult({ pid, status, outcome, value, message, exitCode }: ProcessResult): JsonObject {
  return {
    pid,
    ended: true,
    status,
    outcome: outcome.kind,
    ...(outcome.reason === undefined ? {} : { reason: outcome.reason }),
    ...(message === undefined ? {} : { message }),
    ...(exitCode === undefined ? {} : { exitCode }),
    ...(value === undefined ? {} : { value }),
  };
}

function describeProcess({ pid, name, image, kind, status, outcome, progress }: ProcessRecord): JsonObject {
  return {
    pid,
    image,
    kind,
    status,
    ...(name === undefined ? {} : { name }),
    ...(outcome === undefined ? {} : { outcome: outcome.kind }),
    ...(progress === undefined ? {} : { progress: { ...progress } }),
  };
}
