import { expect, it } from 'vitest';
import { openKernel, refusal } from '../support/kernel.js';

const search = { resource: 'tool:search', rights: ['call'] } as const;

it('rules that ask are set in the commit of the spawn, and bind children too', async () => {
  const kernel = await openKernel();
  const pid = await kernel.processes.spawn({
    capabilities: [{ ...search, delegable: true }],
    ask: [{ resource: ['tool:search', 'tool:mail'], rights: ['call'], reason: 'we look at it' }],
  });
  expect(await kernel.capabilities.rules(pid)).toMatchObject([
    { effect: 'ask', pid, resource: 'tool:search', reason: 'we look at it' },
    { effect: 'ask', pid, resource: 'tool:mail' },
  ]);
  const child = await kernel.processes.spawnChild(pid, { delegate: [search] });
  expect(await kernel.capabilities.check(child, 'call', 'tool:search')).toMatchObject({ code: 'ASK' });
  const { items } = await kernel.audit.list({ action: 'capability.ask' });
  expect(items.map(({ target, resource }) => [target, resource])).toEqual([
    [pid, 'tool:search'],
    [pid, 'tool:mail'],
  ]);
});

it('a rule that cannot be set refuses the spawn, and nothing is created', async () => {
  const kernel = await openKernel();
  const badRight = kernel.processes.spawn({ ask: [{ resource: 'tool:search', rights: ['read'] }] });
  expect(await refusal(badRight)).toMatchObject({ code: 'INVALID_INPUT' });
  const expired = kernel.processes.spawn({ ask: [{ ...search, expiresAt: 1 }] });
  expect(await refusal(expired)).toMatchObject({ code: 'INVALID_INPUT' });
  await kernel.capabilities.ask('*', { ...search, id: 'looked-at' });
  const taken = kernel.processes.spawn({ ask: [{ ...search, id: 'looked-at' }] });
  expect(await refusal(taken)).toMatchObject({ code: 'CONFLICT' });
  expect((await kernel.processes.list()).items).toEqual([]);
});
