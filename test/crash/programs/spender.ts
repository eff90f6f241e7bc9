import { createKernel, KernelError } from '../../../src/index.js';
import { untilStored } from '../../support/until-stored.js';
import { nextLine, print } from './stdio.js';

/**
 * A node that spends what processes have: `charge PID N`, `settle PID N` (reserves more than it settles), `spawn PID N` and
 * `require PID N` make as many calls, several at once, and tell how many were accepted, and the codes of the others.
 */
const [store = ''] = process.argv.slice(2);
const kernel = await createKernel({ logger: 'silent', store, node: { executor: false, pollMs: 50 } });
const { processes, capabilities } = kernel;

const calls: Readonly<Record<string, (pid: string) => Promise<unknown>>> = {
  charge: (pid) => processes.charge(pid, { tokens: 1 }),
  settle: async (pid) => {
    const id = await processes.reserve(pid, { costMicros: 3 });
    await untilStored(() => processes.settle(id, { costMicros: 2 }));
  },
  spawn: (pid) => processes.spawnChild(pid, {}),
  require: (pid) => capabilities.require(pid, 'call', 'tool:search'),
};

print('open');
for (;;) {
  const [kind = '', pid = '', count = '0'] = (await nextLine()).split(' ');
  const call = calls[kind];
  if (call === undefined) break;
  let left = Number(count);
  let accepted = 0;
  const refused: Record<string, number> = {};
  const lane = async () => {
    while (left-- > 0) {
      try {
        await untilStored(() => call(pid));
        accepted++;
      } catch (error) {
        const code = error instanceof KernelError ? String(error.facts.code ?? error.code) : String(error);
        refused[code] = (refused[code] ?? 0) + 1;
      }
      print(`made ${kind}`);
    }
  };
  await Promise.all(Array.from({ length: 8 }, lane));
  print(`${kind} ${JSON.stringify({ accepted, refused })}`);
}
await kernel.shutdown();
process.exit(0);
