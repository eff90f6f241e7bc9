import { appendFileSync } from 'node:fs';
import { createKernel, defineImage, externalTool, KernelError } from '../../../src/index.js';
import { nextLine, print, stopListening } from './stdio.js';

/** A body that opens three calls and does their work itself. With `stop`, it does the work of the third and never settles it. */
const [store = '', log = '', mode = ''] = process.argv.slice(2);

const tools = (['once', 'idempotent'] as const).map((effect) =>
  externalTool({ name: effect, description: 'Appends a line.', effect, input: { type: 'object' } }),
);
const opener = defineImage({
  name: 'opener',
  run: async (ctx) => {
    const answers: string[] = [];
    for (const [n, tool] of ['once', 'idempotent', ctx.args === 'once' ? 'once' : 'idempotent'].entries()) {
      try {
        const call = await ctx.tools.open(tool, { n });
        if (call.settled === undefined) {
          appendFileSync(log, `${tool} ${n}\n`);
          if (n === 2 && mode === 'stop') {
            print('third');
            await new Promise(() => undefined);
          }
        }
        answers.push(String(await call.settle(`${tool} ${n}`)));
      } catch (error) {
        if (!(error instanceof KernelError) || error.code !== 'OUTCOME_UNKNOWN') throw error;
        answers.push(error.code);
      }
    }
    return answers;
  },
});

print('ready');
const args = await nextLine();
const kernel = await createKernel({ logger: 'silent', store, images: [opener], tools, node: { leaseMs: 1_000 } });
const capabilities = [{ resource: 'tool:**', rights: ['call' as const] }];
const pid = await kernel.processes.spawn({ id: 'opener', image: 'opener', args, capabilities });
const { value, outcome } = await kernel.processes.result(pid);
print(`result ${JSON.stringify(value ?? outcome)}`);
await kernel.shutdown();
stopListening();
