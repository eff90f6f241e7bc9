import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { createKernel, defineImage, defineTool, type KernelOptions, type McpTarget } from '../../../src/index.js';
import { nextLine, print } from './stdio.js';

/** What the node is started with. */
export interface Deployment {
  readonly name: string;
  /** The images that it has, each with the tools that it names; without any it sees all. */
  readonly images: Readonly<Record<string, readonly string[]>>;
  readonly tools?: readonly string[];
  readonly queues?: readonly string[];
  readonly servers?: Readonly<Record<string, McpTarget>>;
  readonly mcpWaitMs?: number;
  readonly leaseMs?: number;
  /** Its clock stands still when the node is opened, or is this far ahead. */
  readonly clock?: 'still' | { readonly aheadMs: number };
}

/** The arguments of a process: the tool that it calls, and a file without which it does not end. */
interface Args {
  readonly tool?: string;
  readonly gate?: string;
}

/** A node that tells which processes it begins. Their result is its name, and the answer of the tool. */
const [store = '', text = ''] = process.argv.slice(2);
const {
  name,
  images,
  tools = [],
  queues = ['default'],
  servers,
  mcpWaitMs = 600_000,
  leaseMs = 30_000,
  clock,
} = JSON.parse(text) as Deployment;

const bodies = Object.entries(images).map(([image, named]) =>
  defineImage<Args>({
    name: image,
    ...(named.length === 0 ? {} : { tools: named }),
    run: async (ctx, { tool, gate }) => {
      print(`began ${ctx.pid}`);
      await ctx.step('first', () => null);
      if (gate !== undefined) {
        await ctx.step('wait', async () => {
          while (!existsSync(gate)) await sleep(10);
        });
      }
      return { node: name, answer: tool === undefined ? null : await ctx.tools.call(tool, {}) };
    },
  }),
);

const options: KernelOptions = {
  store,
  images: bodies,
  tools: tools.map((tool) =>
    defineTool({
      name: tool,
      description: 'A tool.',
      input: { type: 'object' },
      effect: 'pure',
      run: async () => tool,
    }),
  ),
  node: { name, queues, leaseMs, pollMs: 20 },
  mcpWaitMs,
  durability: 'normal',
  ...(servers === undefined ? {} : { mcp: servers }),
  ...(clock === undefined ? {} : { clock: clockOf(clock) }),
};

function clockOf(kind: NonNullable<Deployment['clock']>): { now(): number } {
  const began = Date.now();
  return { now: () => (kind === 'still' ? began : Date.now() + kind.aheadMs) };
}

print('opening');
const kernel = await createKernel(options);
print(`open ${kernel.nodeId}`);
await nextLine();
await kernel.shutdown();
process.exit(0);
