import { afterEach, expect, it, vi } from 'vitest';
import { type AuditFixture, entry, openAudit } from '../support/audit/audit-fixture.js';
import { eventually } from '../support/eventually.js';
import { newStore } from '../support/kernel.js';

afterEach(() => void vi.useRealTimers());

const refusalOf = (resource: string, more = {}) =>
  entry(1, {
    action: 'capability.require',
    outcome: 'refused',
    right: 'call',
    code: 'CAPABILITY_DENIED',
    resource,
    ...more,
  });

it('records the first refusal of each resource and counts the repetitions', async () => {
  const audit = await openAudit({ path: await newStore() });
  const ids = [];
  for (let n = 0; n < 5; n++) ids.push(await audit.refusals.record(refusalOf('tool:a')));
  ids.push(await audit.refusals.record(refusalOf('tool:b')));
  expect(ids.map((id) => id !== undefined)).toEqual([true, false, false, false, false, true]);
  await audit.refusals.close();
  const records = await listRecords(audit);
  expect(records.map(({ action, resource }) => [action, resource])).toEqual([
    ['capability.require', 'tool:a'],
    ['capability.require', 'tool:b'],
    ['audit.refusals', undefined],
  ]);
  const count = { actor: 'p_1', right: 'call', kind: 'tool', code: 'CAPABILITY_DENIED', count: 4 };
  expect(records[2]).toMatchObject({ actor: 'host', outcome: 'refused', facts: { total: 4, counts: [count] } });
});

it('writes no count when everything was recorded', async () => {
  const audit = await openAudit({ path: await newStore() });
  await audit.refusals.record(refusalOf('tool:a'));
  await audit.refusals.close();
  await audit.refusals.close();
  expect(await listRecords(audit)).toHaveLength(1);
});

it('records at most 100 resources of one actor, right, kind and code', async () => {
  const audit = await openAudit({ path: await newStore() });
  await Promise.all(Array.from({ length: 1_000 }, (_, n) => audit.refusals.record(refusalOf(`tool:t${n}`))));
  await Promise.all([
    audit.refusals.record(refusalOf('fs:x')),
    audit.refusals.record(refusalOf('tool:t999', { actor: 'p_other' })),
    audit.refusals.record(refusalOf('tool:t999', { code: 'CAPABILITY_EXPIRED' })),
    audit.refusals.record(refusalOf('tool:t999', { right: 'read' })),
  ]);
  await audit.refusals.close();
  const records = await listRecords(audit);
  expect(records).toHaveLength(105);
  expect(records.at(-1)).toMatchObject({ action: 'audit.refusals', facts: { total: 900 } });
});

it('starts a new window after a minute, with one record of the counts', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const audit = await openAudit({ path: await newStore() });
  await audit.refusals.record(refusalOf('tool:a'));
  await audit.refusals.record(refusalOf('tool:a'));
  vi.advanceTimersByTime(59_999);
  await audit.store.write(async () => undefined);
  expect(await listRecords(audit)).toHaveLength(1);
  vi.advanceTimersByTime(1);
  await eventually(async () => expect(await listRecords(audit)).toHaveLength(2));
  expect(await audit.refusals.record(refusalOf('tool:a'))).toBeDefined();
  expect((await listRecords(audit)).map(({ action }) => action)).toEqual([
    'capability.require',
    'audit.refusals',
    'capability.require',
  ]);
});

it('bounds its memory and its records, whoever makes the calls', async () => {
  const audit = await openAudit();
  const notes: Promise<unknown>[] = [];
  for (let n = 0; n < 20_000; n++) notes.push(audit.refusals.record(refusalOf('tool:a', { actor: `p_${n % 10_000}` })));
  await Promise.all(notes);
  await audit.refusals.close();
  const records = await listRecords(audit);
  expect(records).toHaveLength(4_097);
  const facts = records.at(-1)?.facts as { total: number; counts: unknown[] };
  expect([facts.total, facts.counts.length]).toEqual([20_000 - 4_096, 256]);
});

it('does not turn a refusal into another error when it cannot be recorded', async () => {
  const audit = await openAudit({ path: await newStore() });
  await audit.store.close();
  expect(await audit.refusals.record(refusalOf('tool:a'))).toBeUndefined();
  expect(audit.logged).toMatchObject([{ message: 'A refusal could not be recorded.' }]);
});

async function listRecords(audit: AuditFixture) {
  return (await audit.log.list({ limit: 10_000 })).items;
}
