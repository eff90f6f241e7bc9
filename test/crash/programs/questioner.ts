import { createKernel, defineImage } from '../../../src/index.js';
import { nextLine, print } from './stdio.js';

/** A kernel that runs a body which asks two questions, one after the other. */
const [store = ''] = process.argv.slice(2);
print('ready');
await nextLine();
const clerk = defineImage({
  name: 'clerk',
  run: async (ctx) => {
    const first = await ctx.ask('first?');
    print(`first ${JSON.stringify(first)}`);
    const second = await ctx.ask('second?', { choices: [1, 2] });
    print('done');
    return [first, second];
  },
});
const kernel = await createKernel({
  logger: 'silent',
  store,
  durability: 'normal',
  images: [clerk],
  node: { pollMs: 5 },
});
print(`node ${kernel.nodeId}`);
await nextLine();
