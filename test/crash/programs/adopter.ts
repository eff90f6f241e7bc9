import { createKernel } from '../../../src/index.js';
import { nextLine, print, stopListening } from './stdio.js';

/** Runs a command that sleeps for so many seconds, which has a guard, adopts a program of others, and waits to be killed. */
const [store = '', workspace = '', seconds = '', osPid = ''] = process.argv.slice(2);

print('ready');
await nextLine();
const kernel = await createKernel({ store, workspace });
const capabilities = [{ resource: 'command:**', rights: ['call' as const] }];
const pid = await kernel.processes.spawn({ id: 'owner', capabilities });
await kernel.as(pid).run({ argv: ['sleep', seconds], background: true });
const adopted = await kernel.processes.adopt({ osPid: Number(osPid), parent: pid });
print(`up ${adopted.pid}`);
await nextLine();
stopListening();
