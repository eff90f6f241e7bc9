/* One budget for a whole tree: siblings share it, and no process can exceed it. */
import { createKernel, isKernelError } from 'procura';

const kernel = await createKernel();
const { processes } = kernel;

const root = await processes.spawn({ budget: { tokens: 1_000, children: 2 } });
const [a, b] = await Promise.all([processes.spawnChild(root), processes.spawnChild(root)]);

await attempt('a third child', processes.spawnChild(root));

await processes.charge(a, { tokens: 700 });
await attempt('400 more tokens', processes.charge(b, { tokens: 400 }));

// Before a call whose cost is unknown, reserve an upper limit. Afterwards, settle it to the actual cost.
const reservation = await processes.reserve(b, { tokens: 300 });
await attempt('1 token besides the reservation', processes.charge(a, { tokens: 1 }));
await processes.settle(reservation, { tokens: 120 });

const { used, left } = (await processes.budget(root)).tokens;
console.log(`Used ${used} of 1000 tokens, ${left} left.`);
await kernel.shutdown();

async function attempt(what: string, call: Promise<unknown>): Promise<void> {
  try {
    await call;
    console.log(`${what}: allowed`);
  } catch (error) {
    if (!isKernelError(error, 'BUDGET_EXCEEDED')) throw error;
    console.log(`${what}: ${error.code} (${error.facts.dimension})`);
  }
}
