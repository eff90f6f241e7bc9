import { setTimeout as sleep } from 'node:timers/promises';
import { createKernel, Store } from '../../../src/index.js';
import { killAtWrite } from './fault-point.js';
import { nextLine, print, stopListening } from './stdio.js';

/**
 * A process that runs a command in the background, with a child that has left its group, both of which sleep for so many
 * seconds. In some modes the child has also left its environment, its family or its descriptors. With a number, the program kills itself at that write of the store after it has begun: in the unit, or behind its
 * commit. Otherwise it says that the command is up, or being stopped, and waits to be killed.
 */
const [store = '', workspace = '', seconds = '', mode = '', killAt = '', when = ''] = process.argv.slice(2);
const stubborn = "trap '' TERM HUP INT;";
const escapes: Record<string, string> = {
  escaped: `(env -i setsid sh -c "${stubborn} sleep ${seconds}; :" > /dev/null 2>&1 &)`,
  outputOnly: `env -i setsid perl -e 'use POSIX; POSIX::close($_) for 3..100; exec "sleep", "${seconds}"' &`,
  inTree: `env -i setsid perl -e 'use POSIX; POSIX::close($_) for 0..100; exec "sleep", "${seconds}"' &`,
};
const child = escapes[mode] ?? `(${stubborn} setsid sleep ${seconds}) &`;
const script = `${child}\n${mode === 'polite' ? '' : stubborn} echo up; sleep ${seconds}; :`;

print('ready');
await nextLine();
const kernel = await createKernel({ logger: 'silent', store, workspace });
const capabilities = [{ resource: 'command:**', rights: ['call' as const] }];
const pid = await kernel.processes.spawn({ id: 'owner', capabilities });
print('open');
if (killAt !== '') killAtWrite(kernel.container.get(Store), Number(killAt), when);
const argv = ['sh', '-c', script];
const command = await kernel.as(pid).run({ argv, background: true, survive: mode === 'survive' });
await kernel.processes.waitOutput(command.pid, 'up');
// The output may be there before the row says that the command runs.
while ((await kernel.processes.get(command.pid)).status === 'created') await sleep(1);
if (mode === 'stopping') await kernel.processes.signal(command.pid, 'cancel', { graceMs: 60_000, reason: 'enough' });
if (killAt !== '') {
  await kernel.processes.kill(command.pid);
  await kernel.processes.result(command.pid);
  await kernel.shutdown();
  print('done');
} else {
  print(`up ${command.pid}`);
  await nextLine();
}
stopListening();
