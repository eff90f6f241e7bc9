import { createKernel } from '../../../src/index.js';
import { nextLine, print, stopListening } from './stdio.js';

/**
 * A process that uses a tool as often as it can, each use with other arguments, where a rule wants a person to be asked.
 * Tells every use that was acknowledged; waits for answers from outside until it is killed.
 */
const [store = '', pid = ''] = process.argv.slice(2);
print('ready');
await nextLine();
const kernel = await createKernel({ logger: 'silent', store, node: { pollMs: 5 } });
print('open');
const { capabilities } = kernel.as(pid);
for (let n = 0; n < 1_000; n++) {
  const used = capabilities.require('call', 'tool:search', { n });
  print(`asked ${n}`);
  await used;
  print(`used ${n}`);
}
stopListening();
