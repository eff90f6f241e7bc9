import { expect, it } from 'vitest';
import { type AuditRecord, type CapabilityId, type Kernel, KernelError, type Pid } from '../../src/index.js';
import { callConcurrently } from '../support/concurrent-callers.js';
import { newStore, openKernel } from '../support/kernel.js';

const holders = 1_000;
const capabilitiesEach = 25;
const call = { rights: ['call'] } as const;

it('a revoke takes 25,000 that were derived from it, while their holders go on using them', {
  timeout: 120_000,
}, async () => {
  const path = await newStore();
  const kernel = await openKernel({ store: path, durability: 'normal' });
  const giver = await kernel.processes.spawn({});
  const { id: root } = await kernel.capabilities.grant(giver, { resource: 'tool:**', ...call, delegable: true });
  const { pids, derived } = await spreadCapabilities(kernel, giver, root);
  const bystander = await kernel.processes.spawn({ capabilities: [{ resource: 'tool:t0', ...call }] });
  const going = useUntilRefused(kernel, pids);
  await going.begun;
  const report = await kernel.capabilities.revoke(root);
  expect(report).toMatchObject({ capability: root, count: derived.size + 1, holders: holders + 1 });
  const { allowed, codes } = await going.ended;
  expect([allowed > 0, codes]).toEqual([true, new Set(['CAPABILITY_REVOKED'])]);
  expect((await kernel.capabilities.require(bystander, 'call', 'tool:t0')).effect).toBe('allow');
  for (const pid of pids.slice(0, 50)) {
    expect((await kernel.capabilities.check(pid, 'call', 'tool:t0')).code).toBe('REVOKED');
  }
  await kernel.shutdown();
  await checkRecords(await openKernel({ store: path, node: { executor: false } }), root, derived);
});

/** Gives each of a thousand processes 25 capabilities: a delegated one, and 24 derived from it, some from each other. */
async function spreadCapabilities(
  kernel: Kernel,
  giver: Pid,
  root: CapabilityId,
): Promise<{ pids: Pid[]; derived: Set<string> }> {
  const derived = new Set<CapabilityId>();
  const { values: pids } = await callConcurrently(128, holders, async () => {
    const pid = await kernel.processes.spawn({});
    let from = root;
    for (let n = 0; n < capabilitiesEach; n++) {
      const spec = { resource: 'tool:**', ...call, from, delegable: true };
      const { delegate, derive } = kernel.capabilities;
      const { id } = await (n === 0 ? delegate(giver, pid, spec) : derive(pid, spec));
      derived.add(id);
      if (n < 5) from = id;
    }
    return pid;
  });
  return { pids, derived };
}

/** Every process uses its capabilities until it is refused. */
function useUntilRefused(kernel: Kernel, pids: readonly Pid[]) {
  let allowed = 0;
  let first: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => {
    first = resolve;
  });
  const codes = new Set<string>();
  const use = async (pid: Pid) => {
    for (;;) {
      try {
        await kernel.capabilities.require(pid, 'call', 'tool:t0');
        if (++allowed === 200) first();
      } catch (error) {
        codes.add(error instanceof KernelError ? error.code : String(error));
        return;
      }
    }
  };
  const ended = Promise.all(pids.slice(0, 100).map(use)).then(() => ({ allowed, codes }));
  return { begun, ended };
}

/** One record is the revocation; those of the sweep name all others; none of them allowed anything afterwards. */
async function checkRecords(kernel: Kernel, root: CapabilityId, derived: ReadonlySet<string>): Promise<void> {
  const revoked = await listRecords(kernel, 'capability.revoke');
  expect(revoked.map(({ capability, outcome }) => [capability, outcome])).toEqual([[root, 'ok']]);
  const swept = (await listRecords(kernel, 'capability.sweep')).flatMap(({ facts }) => facts?.capabilities as string[]);
  expect([swept.length, new Set(swept)]).toEqual([derived.size, derived]);
  const uses = (await listRecords(kernel, 'capability.require')).filter(({ outcome }) => outcome === 'ok');
  const late = uses.filter(({ seq, capability = '' }) => seq > (revoked[0]?.seq ?? 0) && derived.has(capability));
  expect([uses.length > 200, late]).toEqual([true, []]);
  expect((await kernel.audit.verify()).ok).toBe(true);
}

async function listRecords(kernel: Kernel, action: string): Promise<AuditRecord[]> {
  const items: AuditRecord[] = [];
  for (let after: string | undefined = '0'; after !== undefined; ) {
    const page = await kernel.audit.list({ action, after, limit: 10_000 });
    items.push(...page.items);
    after = page.next;
  }
  return items;
}
