import { appendFileSync } from 'node:fs';
import { createKernel, defineImage, defineTool, KernelError, Store } from '../../../src/index.js';
import { killAtWrite } from './fault-point.js';
import { nextLine, print, stopListening } from './stdio.js';

/**
 * A body that calls a tool which may happen once and one that may happen again, in turn. Each call appends a line to a
 * file. With a number, it kills itself at that write of the store.
 */
const [store = '', log = '', killAt = '', when = ''] = process.argv.slice(2);

const tools = (['once', 'idempotent'] as const).map((effect) =>
  defineTool({
    name: effect,
    description: 'Appends a line.',
    effect,
    input: { type: 'object' },
    run: (args) => {
      const line = `${effect} ${(args as { n: number }).n}`;
      appendFileSync(log, `${line}\n`);
      return line;
    },
  }),
);
const caller = defineImage({
  name: 'caller',
  run: async (ctx) => {
    const answers: string[] = [];
    for (const n of [1, 2, 3]) {
      for (const tool of ['once', 'idempotent']) answers.push(await ctx.tools.call(tool, { n }).then(String, codeOf));
    }
    return answers;
  },
});

/** The body takes OUTCOME_UNKNOWN for an answer and goes on. */
function codeOf(error: unknown): string {
  if (error instanceof KernelError && error.code === 'OUTCOME_UNKNOWN') return error.code;
  throw error;
}

print('ready');
await nextLine();
// No renewal of the lease is among the writes that are counted.
const kernel = await createKernel({ logger: 'silent', store, images: [caller], tools, node: { leaseMs: 3_600_000 } });
if (killAt !== '') killAtWrite(kernel.container.get(Store), Number(killAt), when);
print('open');
const capabilities = [{ resource: 'tool:**', rights: ['call' as const] }];
const pid = await kernel.processes.spawn({ id: 'caller', image: 'caller', capabilities, budget: { toolCalls: 100 } });
const { value, outcome } = await kernel.processes.result(pid);
print(`result ${JSON.stringify(value ?? outcome)}`);
await kernel.shutdown();
stopListening();
