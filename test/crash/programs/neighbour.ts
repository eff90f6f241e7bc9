import { createKernel, KernelError } from '../../../src/index.js';
import { nextLine, print, stopListening } from './stdio.js';

/**
 * One of two programs on one file. Spawns children under a shared root, signals and ends those of the other as it sees
 * them in the stream, and waits until the other has ended all of its own.
 */
const [store = '', name = '', own = '0'] = process.argv.slice(2);
const count = Number(own);
print('ready');
const root = await nextLine();
const kernel = await createKernel({ logger: 'silent', store, node: { name, pollMs: 20 } });
const { processes } = kernel;

async function spawnAndWait(): Promise<void> {
  const waits: Promise<unknown>[] = [];
  await Promise.all(
    Array.from({ length: 8 }, async (_, lane) => {
      for (let n = lane; n < count; n += 8) {
        const pid = await processes.spawnChild(root, { name: `${name} ${n}` });
        waits.push(
          processes.wait(root, pid).then(({ value }) => expectEqual(value, `ended by the other: ${name} ${n}`)),
        );
      }
    }),
  );
  await Promise.all(waits);
}

async function endChildrenOfNeighbour(): Promise<void> {
  const ended: Promise<void>[] = [];
  for await (const event of kernel.events.stream({ tree: root, types: ['process.spawned'] })) {
    const { pid } = event;
    if (pid === undefined || pid === root || event.node === kernel.nodeId) continue;
    ended.push(endChild(pid));
    if (ended.length === count) break;
  }
  await Promise.all(ended);
}

async function endChild(pid: string): Promise<void> {
  const record = await processes.get(pid);
  expectEqual((await processes.signal(pid, 'user.seen', { payload: name })).delivered[0], pid);
  await processes.charge(pid, { tokens: 1 });
  await processes.exit(pid, { result: `ended by the other: ${record.name}` });
}

function expectEqual(found: unknown, expected: unknown): void {
  if (found !== expected) throw new Error(`found ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`);
}

try {
  await Promise.all([spawnAndWait(), endChildrenOfNeighbour()]);
  print('done');
} catch (error) {
  print(`failed ${error instanceof KernelError ? error.code : ''} ${String(error)}`);
  process.exitCode = 1;
}
await kernel.shutdown();
stopListening();
