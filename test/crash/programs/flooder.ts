import { createKernel } from '../../../src/index.js';
import { nextLine, print, stopListening } from './stdio.js';

/**
 * A process with a limit of outputBytes that runs a command in the background, which waits for a file `go` and then writes far
 * more than that. Says that the command is up, and waits to be killed.
 */
const [store = '', workspace = '', limit = '', flood = '', survive = ''] = process.argv.slice(2);
const script = `echo up; until [ -e go ]; do sleep 0.02; done; head -c ${flood} /dev/zero; sleep 0.1; echo end`;

print('ready');
await nextLine();
const kernel = await createKernel({ logger: 'silent', store, workspace });
const capabilities = [{ resource: 'command:**', rights: ['call' as const] }];
const pid = await kernel.processes.spawn({ capabilities, budget: { outputBytes: Number(limit) } });
const argv = ['sh', '-c', script];
const command = await kernel.as(pid).run({ argv, background: true, survive: survive === 'survive' });
await kernel.processes.waitOutput(command.pid, 'up');
print(`up ${command.pid} ${pid}`);
await nextLine();
stopListening();
