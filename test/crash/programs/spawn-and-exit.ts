import { createKernel } from '../../../src/index.js';
import { nextLine, print } from './stdio.js';

/** Four callers spawn trees and end them, and tell every call that was acknowledged. Runs until it is killed. */
const [store = ''] = process.argv.slice(2);
print('ready');
await nextLine();
const kernel = await createKernel({ logger: 'silent', store });
print('open');
const { processes } = kernel;

async function caller(name: string): Promise<never> {
  for (;;) {
    const root = await processes.spawn({ name, budget: { children: 5 } });
    print(`spawned ${root}`);
    const child = await processes.spawnChild(root, { goal: { text: name.repeat(300) } });
    print(`spawned ${child}`);
    const grandchild = await processes.fork(child, {});
    print(`spawned ${grandchild}`);
    if (Math.random() < 0.5) {
      await processes.exit(grandchild, { result: { of: name } });
      print(`ended ${grandchild}`);
    }
    if (Math.random() < 0.5) {
      await processes.cancel(root);
      for (const pid of [root, child, grandchild]) print(`ended ${pid}`);
    }
  }
}

await Promise.all(Array.from({ length: 4 }, (_, n) => caller(`caller${n}`)));
