import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { nextLine, print, stopListening } from './stdio.js';

/** Opens a kernel and is killed after the given number of renames, which is how files are moved; 0: it is not killed. */
const [store = '', killAt = '0'] = process.argv.slice(2);
const { renameSync } = fs;
let renames = 0;
fs.renameSync = (from, to) => {
  renameSync(from, to);
  renames++;
  if (renames === Number(killAt)) process.kill(process.pid, 'SIGKILL');
};
syncBuiltinESMExports();
const { createKernel } = await import('../../../src/index.js');
print('ready');
await nextLine();
const kernel = await createKernel({ logger: 'silent', store, node: { executor: false } });
print(`key ${(await kernel.audit.checkpoint()).key}`);
await kernel.shutdown();
stopListening();
