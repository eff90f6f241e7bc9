import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CapabilityId, createKernel, type Kernel, type Pid } from '../src/index.js';
import { elapsedMs, inTempFolder, median, rate } from './support.js';

/** The longest call of other callers in milliseconds: the median over the rounds. */
export interface RevocationStalls {
  /** Between the start of the revoke and the end of its sweep. */
  readonly duringMs: number;
  /** In an equally long time afterwards, in which nothing is revoked. */
  readonly withoutMs: number;
}

const rounds = 3;
const holders = 1_000;
/** The number of callers of `charge`, and of callers of `require`. */
const callersEach = 8;
const settleMs = 300;
const sweepMsMax = 120_000;

/** Revokes a capability with `derived` below it, spread over 1,000 processes, while others charge and require. */
export function revocationStalls(derived: number, durability: 'full' | 'normal'): Promise<RevocationStalls> {
  return inTempFolder(async (folder) => {
    const filled = join(folder, 'filled');
    mkdirSync(filled);
    const tree = await fill(join(filled, 'revoke.db'), derived);
    const measured: RevocationStalls[] = [];
    for (let round = 0; round < rounds; round++) {
      const copy = join(folder, `round-${round}`);
      cpSync(filled, copy, { recursive: true });
      await using kernel = await createKernel({ store: join(copy, 'revoke.db'), durability });
      measured.push(await measureStalls(kernel, tree, derived));
    }
    return {
      duringMs: median(measured.map(({ duringMs }) => duringMs)),
      withoutMs: median(measured.map(({ withoutMs }) => withoutMs)),
    };
  });
}

interface FilledStore {
  readonly source: CapabilityId;
  /** A process that is not affected by the revocation. */
  readonly bystander: Pid;
}

async function fill(path: string, derived: number): Promise<FilledStore> {
  await using kernel = await createKernel({ store: path, durability: 'normal' });
  const bystander = await kernel.processes.spawn({ capabilities: [{ resource: 'tool:search', rights: ['call'] }] });
  const root = await kernel.processes.spawn({});
  const spec = { resource: 'tool:team/**', rights: ['call'], delegable: true } as const;
  const { id: source } = await kernel.capabilities.grant(root, spec);
  await rate(holders, 256, async (index) => {
    const pid = await kernel.processes.spawn({});
    for (let at = index; at < derived; at += holders) {
      await kernel.capabilities.delegate(root, pid, { from: source, resource: `tool:team/t${at}`, rights: ['call'] });
    }
  });
  return { source, bystander };
}

async function measureStalls(
  kernel: Kernel,
  { source, bystander: other }: FilledStore,
  derived: number,
): Promise<RevocationStalls> {
  let sweepMs = 0;
  const duringMs = await longestCallMs(kernel, other, async () => {
    sweepMs = await elapsedMs(() => Promise.all([waitForSweep(kernel, derived), kernel.capabilities.revoke(source)]));
  });
  const withoutMs = await longestCallMs(kernel, other, () => sleep(sweepMs));
  return { duringMs, withoutMs };
}

/** The longest call, of those that overlap with `work`, that callers make one after another. */
async function longestCallMs(kernel: Kernel, pid: Pid, work: () => Promise<unknown>): Promise<number> {
  let working = true;
  let longestMs = 0;
  const keepCalling = async (call: () => Promise<unknown>) => {
    while (working) {
      const tookMs = await elapsedMs(call);
      longestMs = Math.max(longestMs, tookMs);
    }
  };
  const callers = Array.from({ length: callersEach }, () => [
    keepCalling(() => kernel.processes.charge(pid, { tokens: 1 })),
    keepCalling(() => kernel.capabilities.require(pid, 'call', 'tool:search')),
  ]);
  await sleep(settleMs);
  longestMs = 0;
  try {
    await work();
  } finally {
    working = false;
    await Promise.all(callers.flat());
  }
  return longestMs;
}

/** Resolves when the sweep has marked `count` capabilities. Throws when it marked more, or did not finish in time. */
async function waitForSweep(kernel: Kernel, count: number): Promise<void> {
  const end = new AbortController();
  let left = count;
  using _listening = kernel.events.on('capabilities.swept', ({ data }) => {
    left -= data.count;
    if (left <= 0) end.abort();
  });
  // Aborted at the end of the sweep.
  await sleep(sweepMsMax, undefined, { signal: end.signal }).catch(() => undefined);
  if (left !== 0) throw new Error(`The sweep should have marked ${count}; it differs by ${left}.`);
}
