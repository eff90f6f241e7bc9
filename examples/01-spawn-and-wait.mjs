/* A parent, a child, a result. Everything stays in memory. */
import { createKernel } from 'procura';

const kernel = await createKernel();
const { processes } = kernel;

const parent = await processes.spawn({ name: 'parent', goal: 'Add two numbers' });
const child = await processes.spawnChild(parent, { name: 'adder', args: { a: 2, b: 3 } });

// The child's work is done elsewhere; whoever does it reports the result.
await processes.complete(child, { sum: 5 });

const { status, value } = await processes.wait(parent, child);
console.log(`The child ${status} with ${JSON.stringify(value)}.`);

// A parent takes its live children along when it ends.
const late = await processes.spawnChild(parent, { name: 'late' });
await processes.exit(parent);
const { outcome } = await processes.result(late);
console.log(`The late child ended too: ${outcome.kind}.`);

await kernel.shutdown();
