import { expect, it } from 'vitest';
import { checkInvariants } from '../support/invariants.js';
import { kernelFixture } from '../support/kernel-fixture.js';

it('provenance tells what an object was made from, by whom and by which capability, as far as it goes', async () => {
  const { kernel, path, refused } = await kernelFixture();
  const maker = await kernel.processes.spawn({ image: 'worker' });
  const child = await kernel.processes.fork(maker, { image: 'worker', mode: 'copy' });
  const page = await kernel.memory.create(maker, { type: 'evidence', payload: 'a page' });
  const claim = await kernel.memory.create(maker, { type: 'claim', payload: 'it is so', sources: [page] });
  const report = await kernel.memory.create(maker, { type: 'summary', payload: 'in short', sources: [claim, page] });
  const { object, nodes, edges } = await kernel.audit.provenance(report.id);
  expect(object).toBe(report.id);
  expect(nodes.map((node) => [node.object, node.type, node.madeBy, node.action, node.capability])).toEqual([
    [report.id, 'summary', maker, 'memory.create', report.capability],
    [claim.id, 'claim', maker, 'memory.create', claim.capability],
    [page.id, 'evidence', maker, 'memory.create', page.capability],
  ]);
  expect(edges).toEqual([
    { from: report.id, to: claim.id, version: 1 },
    { from: report.id, to: page.id, version: 1 },
    { from: claim.id, to: page.id, version: 1 },
  ]);
  const trace = await kernel.audit.authority(nodes[0]?.seq ?? 0);
  expect([trace.actor, trace.root]).toEqual([maker, 'kernel']);
  expect((await refused(() => kernel.audit.provenance('o_none'))).code).toBe('NO_SUCH_OBJECT');
  await kernel.processes.exit(child);
  await checkInvariants(kernel, path);
});
