import { expect, it } from 'vitest';
import { agentImage } from '../../../src/integrations/ai-sdk/index.js';
import { scriptedModel } from '../../../src/testing/index.js';
import { eventually } from '../../support/eventually.js';
import { add } from '../../support/integrations/agent-fixture.js';
import { openKernel } from '../../support/kernel.js';

const capabilities = ['model:**', 'tool:**'].map((resource) => ({ resource, rights: ['call' as const] }));

it('an agent is told with which arguments a person has had its call made', async () => {
  const model = scriptedModel([{ toolCalls: [{ name: 'math.add', args: { a: 1, b: 2 } }] }, 'I see.']);
  const kernel = await openKernel({ tools: [add], images: [agentImage({ name: 'agent', model })] });
  const pid = await kernel.processes.spawn({
    image: 'agent',
    capabilities,
    ask: [{ resource: 'tool:math.add', rights: ['call'] }],
  });
  await eventually(async () => expect(await kernel.approvals.list({ pid })).toHaveLength(1));
  const [asked] = await kernel.approvals.list({ pid });
  await kernel.approvals.answer(asked?.id ?? '', { decision: 'once', by: 'ann', args: { a: 10, b: 20 } });
  expect((await kernel.processes.result(pid)).status).toBe('exited');
  expect(model.prompts[1]?.at(-1)).toMatchObject({
    role: 'tool',
    content: [{ output: { value: { args: { a: 10, b: 20 }, by: 'ann', result: 30 } } }],
  });
});

it('an agent is told why where a person refuses its call', async () => {
  const model = scriptedModel([{ toolCalls: [{ name: 'math.add', args: { a: 1, b: 2 } }] }, 'I see.']);
  const kernel = await openKernel({ tools: [add], images: [agentImage({ name: 'agent', model })] });
  const pid = await kernel.processes.spawn({
    image: 'agent',
    capabilities,
    ask: [{ resource: 'tool:math.add', rights: ['call'] }],
  });
  await eventually(async () => expect(await kernel.approvals.list({ pid })).toHaveLength(1));
  const [asked] = await kernel.approvals.list({ pid });
  await kernel.approvals.answer(asked?.id ?? '', { decision: 'deny', by: 'ann' });
  expect((await kernel.processes.result(pid)).status).toBe('exited');
  expect(model.prompts[1]?.at(-1)).toMatchObject({
    content: [{ output: { value: { error: { code: 'APPROVAL_DENIED' } } } }],
  });
});
