import { appendFileSync } from 'node:fs';
import { createKernel, defineImage, Store, type Syscalls } from '../../../src/index.js';
import { killAtWrite } from './fault-point.js';
import { nextLine, print, stopListening } from './stdio.js';

/**
 * A parent with three children, twenty steps in all, each of which appends a line to a file. With a number, it kills
 * itself at that write of the store: in the unit, or after its commit and before the caller gets the answer.
 */
const [store = '', log = '', killAt = '', when = ''] = process.argv.slice(2);
const stepsEach = 5;

async function work(ctx: Syscalls, who: string): Promise<string[]> {
  const done: string[] = [];
  for (let n = 1; n <= stepsEach; n++) {
    done.push(
      await ctx.step(`step ${n}`, () => {
        appendFileSync(log, `${who} ${n}\n`);
        return `${who} ${n}`;
      }),
    );
  }
  return done;
}

// It may be killed more often in a row than a process is given.
const recoveriesMax = 1_000;
const child = defineImage<{ who: string }>({ name: 'child', recoveriesMax, run: (ctx, { who }) => work(ctx, who) });
const parent = defineImage({
  name: 'parent',
  recoveriesMax,
  run: async (ctx) => {
    const children: string[] = [];
    for (const who of ['a', 'b', 'c']) children.push(await ctx.spawnChild({ image: 'child', args: { who } }));
    const own = await work(ctx, 'parent');
    const [first, ...rest] = children;
    const results = [await ctx.wait(first as string), ...(await ctx.waitAll(rest))];
    await ctx.sleep(5);
    return [...own, ...results.flatMap(({ value }) => value as string[])];
  },
});

print('ready');
await nextLine();
const kernel = await createKernel({ logger: 'silent', store, images: [child, parent], node: { leaseMs: 1_000 } });
if (killAt !== '') killAtWrite(kernel.container.get(Store), Number(killAt), when);
print('open');
const pid = await kernel.processes.spawn({ id: 'team', image: 'parent' });
const { value, outcome } = await kernel.processes.result(pid);
print(`result ${JSON.stringify(value ?? outcome)}`);
await kernel.shutdown();
stopListening();
