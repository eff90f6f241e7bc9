import { createKernel } from '../../../src/index.js';
import { nextLine, print, stopListening } from './stdio.js';

/**
 * Charges a process. On `hold` it stops itself with SIGSTOP in the middle of the transaction of the charge, where the kernel reads
 * its clock, and goes on when it is continued.
 */
const [store = ''] = process.argv.slice(2);
print('ready');
const pid = await nextLine();
let isArmed = false;
const kernel = await createKernel({
  logger: 'silent',
  store,
  node: { executor: false },
  clock: {
    now: () => {
      if (isArmed) {
        isArmed = false;
        print('holding');
        process.kill(process.pid, 'SIGSTOP');
      }
      return Date.now();
    },
    peek: () => Date.now(),
  },
});
print('open');
for (let command = await nextLine(); command !== ''; command = await nextLine()) {
  isArmed = command === 'hold';
  await kernel.processes.charge(pid, { tokens: 10 });
  print(`charged ${command}`);
}
await kernel.shutdown();
stopListening();
