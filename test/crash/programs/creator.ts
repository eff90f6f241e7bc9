import { createKernel } from '../../../src/index.js';
import { deaf, heard, tell } from './tell.js';

/** Opens a database that may not be there yet, spawns one process, and ends. */
const [store = ''] = process.argv.slice(2);
tell('ready');
await heard();
const kernel = await createKernel({ store });
tell(`spawned ${await kernel.processes.spawn({})}`);
await kernel.shutdown();
deaf();
