import { appendFileSync } from 'node:fs';
import { createKernel, defineImage, defineTool, type Syscalls } from '../../../src/index.js';
import { nextLine, print, stopListening } from './stdio.js';

/**
 * A program as it is deployed: an order that reserves, has a child ship, and pays. The build `bad` calls its first step by
 * another name. With `hold` the tool that pays never answers, so that the program can be killed there.
 */
const [store = '', log = '', build = '', hold = ''] = process.argv.slice(2);

const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  effect: 'idempotent',
  input: { type: 'object' },
  run: async () => {
    print('paying');
    if (hold !== '') await new Promise(() => undefined);
    return 'paid';
  },
});
const order = defineImage({
  name: 'order',
  build,
  run: async (ctx: Syscalls) => {
    const reserve = build === 'bad' ? 'reserve stock' : 'reserve';
    const reserved = await ctx.step(reserve, () => {
      appendFileSync(log, 'reserve\n');
      return 'reserved';
    });
    const child = await ctx.spawnChild({ image: 'shipping' });
    const paid = await ctx.tools.call('pay', {});
    await ctx.send(child, 'go');
    const { value } = await ctx.wait(child);
    return [reserved, paid, value ?? null];
  },
});
const shipping = defineImage({
  name: 'shipping',
  run: async (ctx) => {
    await ctx.step('pack', () => appendFileSync(log, 'pack\n'));
    const { body } = await ctx.receive();
    return `shipped: ${String(body)}`;
  },
});

print('ready');
await nextLine();
const kernel = await createKernel({ store, images: [order, shipping], tools: [pay] });
const capabilities = [{ resource: 'tool:pay', rights: ['call' as const] }];
const pid = await kernel.processes.spawn({ id: 'order', image: 'order', capabilities, budget: { toolCalls: 1 } });
print(`open ${pid}`);
const { value, outcome } = await kernel.processes.result(pid);
print(`result ${JSON.stringify(value ?? outcome)}`);
await kernel.shutdown();
stopListening();
