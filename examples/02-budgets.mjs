/* One budget for a whole tree: siblings share it, and nobody can pass it. */
import { createKernel } from 'procura';

const kernel = await createKernel();
const { processes } = kernel;

const root = await processes.spawn({ budget: { tokens: 1_000, children: 2 } });
const [a, b] = await Promise.all([processes.spawnChild(root), processes.spawnChild(root)]);

await refused('a third child', () => processes.spawnChild(root));

await processes.charge(a, { tokens: 700 });
await refused('400 more tokens', () => processes.charge(b, { tokens: 400 }));

// Before a call whose cost is not known, its ceiling is reserved; afterwards it is settled to what it was.
const reservation = await processes.reserve(b, { tokens: 300 });
await refused('1 token beside the reservation', () => processes.charge(a, { tokens: 1 }));
await processes.settle(reservation, { tokens: 120 });

const { used, left } = (await processes.budget(root)).tokens;
console.log(`Used ${used} of 1000 tokens, ${left} left.`);
await kernel.shutdown();

async function refused(what, call) {
  const error = await call().then(
    () => undefined,
    (reason) => reason,
  );
  console.log(`${what}: ${error?.code ?? 'allowed'} (${error?.facts.dimension ?? '-'})`);
}
