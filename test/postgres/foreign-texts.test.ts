import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineImage, defineTool, type Syscalls } from '../../src/index.js';
import { openKernel } from '../support/kernel.js';

const text = 'a\0b\ud800';
const kept = 'a\ufffdb\ufffd';

const failing = defineTool({
  name: 'failing',
  description: 'Fails.',
  effect: 'once',
  input: z.object({}),
  run: async () => {
    throw new Error(text);
  },
});
const bodies: Record<string, (ctx: Syscalls) => Promise<unknown>> = {
  throws: async () => {
    throw new Error(text);
  },
  steps: (ctx) =>
    ctx.step('once', () => {
      throw new Error(text);
    }),
  calls: (ctx) => ctx.tools.call('failing', {}),
};
const images = Object.entries(bodies).map(([name, run]) => defineImage({ name, run: run as never }));
const logging = defineImage({ name: 'logging', run: async (ctx) => void (await ctx.log(text, { text: 'a\0b' })) });

/** Of code that is not the kernel's: the server stores no character with the code 0. */
it('a failure with any text ends its process with that failure', async () => {
  const kernel = await openKernel({ images, tools: [failing] });
  for (const image of Object.keys(bodies)) {
    const capabilities = [{ resource: 'tool:failing', rights: ['call' as const] }];
    const pid = await kernel.processes.spawn({ image, capabilities });
    const { outcome, message } = await kernel.processes.result(pid);
    expect([image, outcome.reason, message?.includes(kept)]).toEqual([
      image,
      image === 'calls' ? 'TOOL_FAILED' : 'Error',
      true,
    ]);
  }
  const { items } = await kernel.audit.list({ action: 'tool.call' });
  expect(items.map(({ outcome }) => outcome)).toEqual(['intent', 'failed']);
});

it('a line of a log may have any text', async () => {
  const kernel = await openKernel({ images: [logging] });
  const pid = await kernel.processes.spawn({ image: 'logging' });
  expect((await kernel.processes.result(pid)).status).toBe('exited');
  expect((await kernel.processes.logs(pid)).items).toMatchObject([{ text: kept, facts: { text: 'a\0b' } }]);
});
