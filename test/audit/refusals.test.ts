import { afterEach, expect, it, vi } from 'vitest';
import { entry, type Harness, openAudit, tempDatabase } from '../support/audit/audit-fixture.js';
import { eventually } from '../support/eventually.js';

afterEach(() => void vi.useRealTimers());

const refused = (resource: string, more = {}) =>
  entry(1, {
    action: 'capability.require',
    outcome: 'refused',
    right: 'call',
    code: 'CAPABILITY_DENIED',
    resource,
    ...more,
  });

it('records the first refusal of each resource whole and counts the repetitions', async () => {
  const audit = await openAudit({ path: tempDatabase() });
  const ids = [];
  for (let n = 0; n < 5; n++) ids.push(await audit.refusals.note(refused('tool:a')));
  ids.push(await audit.refusals.note(refused('tool:b')));
  expect(ids.map((id) => id !== undefined)).toEqual([true, false, false, false, false, true]);
  await audit.refusals.close();
  const records = await all(audit);
  expect(records.map(({ action, resource }) => [action, resource])).toEqual([
    ['capability.require', 'tool:a'],
    ['capability.require', 'tool:b'],
    ['audit.refusals', undefined],
  ]);
  const count = { actor: 'p_1', right: 'call', kind: 'tool', code: 'CAPABILITY_DENIED', count: 4 };
  expect(records[2]).toMatchObject({ actor: 'host', outcome: 'refused', facts: { total: 4, counts: [count] } });
});

it('writes no count when everything was recorded', async () => {
  const audit = await openAudit({ path: tempDatabase() });
  await audit.refusals.note(refused('tool:a'));
  await audit.refusals.close();
  await audit.refusals.close();
  expect(await all(audit)).toHaveLength(1);
});

it('records at most 100 resources of one actor, right, kind and code', async () => {
  const audit = await openAudit({ path: tempDatabase() });
  await Promise.all(Array.from({ length: 1_000 }, (_, n) => audit.refusals.note(refused(`tool:t${n}`))));
  await Promise.all([
    audit.refusals.note(refused('fs:x')),
    audit.refusals.note(refused('tool:t999', { actor: 'p_other' })),
    audit.refusals.note(refused('tool:t999', { code: 'CAPABILITY_EXPIRED' })),
    audit.refusals.note(refused('tool:t999', { right: 'read' })),
  ]);
  await audit.refusals.close();
  const records = await all(audit);
  expect(records).toHaveLength(105);
  expect(records.at(-1)).toMatchObject({ action: 'audit.refusals', facts: { total: 900 } });
});

it('begins anew when the minute ends, with one record for what was counted', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const audit = await openAudit({ path: tempDatabase() });
  await audit.refusals.note(refused('tool:a'));
  await audit.refusals.note(refused('tool:a'));
  vi.advanceTimersByTime(59_999);
  await audit.store.write(async () => undefined);
  expect(await all(audit)).toHaveLength(1);
  vi.advanceTimersByTime(1);
  await eventually(async () => expect(await all(audit)).toHaveLength(2));
  expect(await audit.refusals.note(refused('tool:a'))).toBeDefined();
  expect((await all(audit)).map(({ action }) => action)).toEqual([
    'capability.require',
    'audit.refusals',
    'capability.require',
  ]);
});

it('keeps what it remembers and what it writes bounded, whoever asks', async () => {
  const audit = await openAudit({ path: ':memory:' });
  const notes: Promise<unknown>[] = [];
  for (let n = 0; n < 20_000; n++) notes.push(audit.refusals.note(refused('tool:a', { actor: `p_${n % 10_000}` })));
  await Promise.all(notes);
  await audit.refusals.close();
  const records = await all(audit);
  expect(records).toHaveLength(4_097);
  const facts = records.at(-1)?.facts as { total: number; counts: unknown[] };
  expect([facts.total, facts.counts.length]).toEqual([20_000 - 4_096, 256]);
});

it('does not turn a refusal into another error when it cannot be written down', async () => {
  const audit = await openAudit({ path: tempDatabase() });
  await audit.store.close();
  expect(await audit.refusals.note(refused('tool:a'))).toBeUndefined();
  expect(audit.logged).toMatchObject([{ message: 'A refusal could not be recorded.' }]);
});

async function all(audit: Harness) {
  return (await audit.log.list({ limit: 10_000 })).items;
}
