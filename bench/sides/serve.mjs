/*
 * What each program of the comparison with peers does: it opens one side, runs a round whenever the driver asks for one, and
 * closes when the driver is done or gone. Plain JavaScript, because all sides are run by node alone.
 */
import { performance } from 'node:perf_hooks';

/**
 * @typedef {object} Side
 * @property {Record<string, (n: number) => Promise<unknown>>} [workloads] one operation each
 * @property {(request: { callers: number, operations?: number }) => Round | Promise<Round>} [replay] a whole round, instead of
 *   `workloads`
 * @property {() => number} [serverCpuUs] CPU time of other processes that work for this side, so far
 * @property {object} facts for the results
 * @property {() => Promise<void> | void} close
 *
 * @typedef {{ operations: number, elapsedMs: number, cpuUs: number }} Round
 */

/** What the operations must answer with, given `n`. The processes of `spawn` are counted by the side that writes them again. */
const expected = { 'parent-child': (n) => n * n + 1, step: (n) => n * n };

/** @param {(setting: { folder: string, durability: 'full' | 'normal' }) => Promise<Side>} open */
export async function serve(open) {
  const side = await open(JSON.parse(process.argv[2] ?? '{}'));
  process.on('message', async (request) => process.send?.(await runRound(side, request)));
  process.on('disconnect', async () => {
    await side.close();
    process.exit();
  });
  process.send?.({ facts: side.facts });
}

/** @returns {Promise<Round>} */
async function runRound(side, { workload, callers, durationMs, operations: replayed }) {
  if (side.replay !== undefined) return side.replay({ callers, operations: replayed });
  const cpuBefore = cpuUs(side);
  const started = performance.now();
  const operations = await runFor(side, workload, callers, durationMs);
  const elapsedMs = performance.now() - started;
  return { operations, elapsedMs, cpuUs: cpuUs(side) - cpuBefore };
}

let next = 0;

/** Callers that each make one operation after another until the time is up; answers with the number of operations. */
async function runFor(side, workload, callers, durationMs) {
  const until = performance.now() + durationMs;
  let operations = 0;
  const call = async () => {
    while (performance.now() < until) {
      const n = next++;
      checkAnswer(workload, n, await side.workloads[workload](n));
      operations++;
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
  return operations;
}

/** One caller, a fixed number of operations. */
export async function runCount(operation, workload, operations) {
  for (let n = 0; n < operations; n++) checkAnswer(workload, n, await operation(n));
}

function checkAnswer(workload, n, answer) {
  if (workload in expected && answer !== expected[workload](n))
    throw new Error(`${workload} of ${n} was ${JSON.stringify(answer)}.`);
}

function cpuUs(side) {
  const { user, system } = process.cpuUsage();
  return user + system + (side.serverCpuUs?.() ?? 0);
}
