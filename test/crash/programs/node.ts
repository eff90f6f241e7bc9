import { createKernel } from '../../../src/index.js';
import { heard, tell } from './tell.js';

/** A kernel that registers its node, tells its id, and does nothing until it is killed. */
const [store = ''] = process.argv.slice(2);
tell('ready');
await heard();
const kernel = await createKernel({ store, durability: 'normal' });
tell(`node ${kernel.nodeId}`);
await heard();
