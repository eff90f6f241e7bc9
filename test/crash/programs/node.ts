import { createKernel } from '../../../src/index.js';
import { nextLine, print } from './stdio.js';

/** A kernel that registers its node, tells its id, and does nothing until it is killed. */
const [store = ''] = process.argv.slice(2);
print('ready');
await nextLine();
const kernel = await createKernel({ logger: 'silent', store, durability: 'normal' });
print(`node ${kernel.nodeId}`);
await nextLine();
