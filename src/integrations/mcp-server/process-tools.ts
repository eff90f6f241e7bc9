import { z } from 'zod';
import {
  budgetDimensions,
  type ChildSpec,
  controlSignals,
  type ExitSpec,
  KernelError,
  type ProcessFace,
  type ProcessRecord,
} from '../../index.js';
import { isStillPaused } from './answers.js';
import { capabilityInput } from './capability-input.js';
import { additive, destructive, idempotent, json, type McpTool, mcpTool, readOnly, waitMs } from './mcp-tool.js';

const child = z.string().describe('The pid of a child, as spawn or list_children gave it.');
const count = z.number().int().min(0);

const spawnInput = z.strictObject({
  image: z.string().describe('The image of the child, "name" or "name@version". Absent: yours.').exactOptional(),
  goal: z.string().describe('What the child is to do, in plain words.').exactOptional(),
  args: json.describe('The arguments that its image takes.').exactOptional(),
  name: z.string().describe('A short name for people.').exactOptional(),
  labels: z.record(z.string(), z.string()).describe('Labels for people and filters.').exactOptional(),
  id: z
    .string()
    .describe('Makes it safe to repeat: the same id with the same arguments gives the same child.')
    .exactOptional(),
  delegate: z
    .array(capabilityInput.extend({ from: z.string().describe('The id of the one to draw from.').exactOptional() }))
    .describe(
      'What you hand the child of what you may hand on. It starts with nothing else, and never gets more than you have.',
    )
    .exactOptional(),
  budget: z
    .strictObject(
      Object.fromEntries(budgetDimensions.map((dimension) => [dimension, count.exactOptional()])) as Record<
        (typeof budgetDimensions)[number],
        z.ZodExactOptional<typeof count>
      >,
    )
    .describe('Limits for the child and everything under it; what it spends is taken from your own budget too.')
    .exactOptional(),
  cwd: z.string().describe('Its working directory, relative to the workspace; absent: yours.').exactOptional(),
  deadlineMs: count.describe('It is stopped when it takes longer.').exactOptional(),
  onParentExit: z
    .enum(['cancel', 'reparent'])
    .describe('What becomes of it when you end; absent: it is cancelled.')
    .exactOptional(),
});

const signalInput = z
  .strictObject({
    pid: child,
    signal: z.enum(controlSignals).describe('cancel gives it time to end by itself, kill does not.'),
    reason: z.string().max(4096).describe('Of cancel and kill; goes on record.').exactOptional(),
  })
  .refine(({ signal, reason }) => reason === undefined || signal === 'cancel' || signal === 'kill', {
    path: ['reason'],
    message: 'only cancel and kill have a reason',
  });

const exitInput = z.strictObject({
  result: json.describe('What came of it, for whoever waits for you.').exactOptional(),
  failed: z.boolean().describe('Whether the goal was not reached.').exactOptional(),
  message: z.string().max(4096).describe('A sentence for people.').exactOptional(),
});

/** The tools for children, and for the end of the process itself; `ended` is called after that. */
export function processTools(face: ProcessFace, ended: () => void): McpTool[] {
  return [
    mcpTool({
      name: 'spawn',
      description:
        'Starts a child process, such as another agent, and answers with its pid. It can do only what you delegate to it. Call wait for its result.',
      input: spawnInput,
      hints: additive,
      run: async (spec) => ({ pid: await face.spawnChild(spec as ChildSpec) }),
    }),
    mcpTool({
      name: 'wait',
      description:
        'Waits until a child has ended and answers with its outcome and its result. Without pid: the next child that ends and that no earlier wait has told you of.',
      input: z.strictObject({ pid: child.exactOptional(), timeoutMs: waitMs }),
      hints: idempotent,
      run: async ({ pid, timeoutMs }, signal) => waitForChild(face, pid, { timeoutMs, signal }),
    }),
    mcpTool({
      name: 'list_children',
      description: 'Lists your child processes with their state, in the order in which they were started.',
      input: z.strictObject({
        live: z.boolean().describe('Only those that have not ended.').default(false),
        limit: z.number().int().min(1).max(1_000).describe('How many at most.').default(100),
      }),
      hints: readOnly,
      run: async ({ live, limit }) => {
        const children = await face.children();
        const wanted = children.filter(({ exitedAt }) => !live || exitedAt === undefined);
        return { children: wanted.slice(0, limit).map(toSummary), more: wanted.length > limit };
      },
    }),
    mcpTool({
      name: 'signal',
      description: 'Pauses, resumes, cancels or kills a child and everything under it. Answers with whom it reached.',
      input: signalInput,
      hints: destructive,
      run: async ({ pid, signal, reason }) =>
        signal === 'cancel' || signal === 'kill' ? face[signal](pid, reason) : face[signal](pid),
    }),
    mcpTool({
      name: 'exit',
      description:
        'Ends this process, you, with a result. Call it last: children that are still running are stopped, nothing more can be called, and the connection is closed.',
      input: exitInput,
      hints: destructive,
      run: async (spec) => {
        await face.exit(spec as ExitSpec);
        ended();
        return { pid: face.pid, ended: true };
      },
    }),
  ];
}

async function waitForChild(
  face: ProcessFace,
  pid: string | undefined,
  limits: { timeoutMs: number; signal: AbortSignal },
) {
  try {
    const result = pid === undefined ? await face.waitAny(undefined, limits) : await face.wait(pid, limits);
    return { ended: true, ...result };
  } catch (error) {
    if (!(error instanceof KernelError) || error.code !== 'WAIT_TIMEOUT' || isStillPaused(error)) throw error;
    const note = `Still running: nothing has ended within ${limits.timeoutMs} ms. Call wait again, or signal it.`;
    return { ended: false, ...(pid === undefined ? {} : { pid }), note };
  }
}

function toSummary({
  pid,
  name,
  image,
  kind,
  status,
  outcome,
  message,
  progress,
  used,
  createdAt,
  exitedAt,
}: ProcessRecord) {
  return { pid, name, image, kind, status, outcome, message, progress, used, createdAt, exitedAt };
}
