import { expect, it } from 'vitest';
import { kernelFixture } from '../../support/kernel-fixture.js';

it('reading an object takes what costs nothing first, by its id or by its place, exact or not', async () => {
  const { kernel } = await kernelFixture();
  const maker = await kernel.processes.spawn({ goal: { text: 'x' } });
  const { goal } = await kernel.processes.get(maker);
  const reader = await kernel.processes.spawn({});
  const read = () => kernel.memory.read(reader, goal).then(({ payload }) => payload);
  const grant = (resource: string, uses?: number) =>
    kernel.capabilities.grant(reader, { resource, rights: ['read'], ...(uses === undefined ? {} : { uses }) });
  const finite = await grant(`object:${goal}`, 1);
  await grant('object:**');
  for (let n = 0; n < 3; n++) expect(await read()).toEqual({ text: 'x' });
  expect((await kernel.capabilities.get(finite.id)).uses).toBe(1);
});
