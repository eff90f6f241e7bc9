import { createHash } from 'node:crypto';
import { createKernel, defineImage } from '../../../src/index.js';
import { untilStored } from '../../support/until-stored.js';
import { nextLine, print } from './stdio.js';

/**
 * A node that runs jobs, and tells each one that it runs. `spawn N` has it spawn as many, several at once; `digest SEQ` has it
 * tell the hash of everything that its stream of events has brought up to that number, in the order in which it came.
 */
const [store = '', name = '', leaseMs = '600000'] = process.argv.slice(2);

const job = defineImage({
  name: 'job',
  run: (ctx) => ctx.step('work', async () => print(`ran ${ctx.pid}`)),
});
const kernel = await createKernel({
  logger: 'silent',
  store,
  images: [job],
  node: { name, leaseMs: Number(leaseMs), concurrency: 16, pollMs: 50 },
});

const stream = kernel.events.stream({ after: 0 })[Symbol.asyncIterator]();
const hash = createHash('sha256');
let last = 0;
let repeated = 0;

async function digestUpTo(seq: number): Promise<string> {
  while (last < seq) {
    const { value } = await stream.next();
    if (value.seq <= last) repeated++;
    last = value.seq;
    hash.update(`${value.seq} ${value.type} ${value.pid} ${value.node}\n`);
  }
  return hash.copy().digest('hex');
}

async function spawn(count: number): Promise<void> {
  let left = count;
  const lane = async () => {
    while (left-- > 0) await untilStored(() => kernel.processes.spawn({ image: 'job' }));
  };
  await Promise.all(Array.from({ length: 32 }, lane));
}

print(`open ${kernel.nodeId}`);
for (;;) {
  const [command, amount] = (await nextLine()).split(' ');
  if (command === 'spawn') await spawn(Number(amount));
  else if (command === 'digest') print(`digest ${await digestUpTo(Number(amount))} ${repeated}`);
  else break;
  print(`done ${command}`);
}
await kernel.shutdown();
process.exit(0);
