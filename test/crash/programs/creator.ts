import { createKernel } from '../../../src/index.js';
import { nextLine, print, stopListening } from './stdio.js';

/** Opens a database that may not be there yet, spawns one process, and ends. */
const [store = ''] = process.argv.slice(2);
print('ready');
await nextLine();
const kernel = await createKernel({ logger: 'silent', store });
print(`spawned ${await kernel.processes.spawn({})}`);
await kernel.shutdown();
stopListening();
