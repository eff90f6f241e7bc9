import { describe, expect, it } from 'vitest';
import { defineImage, type Pid } from '../../src/index.js';
import { agentImage } from '../../src/integrations/ai-sdk/index.js';
import { scriptedModel } from '../support/integrations/scripted-model.js';
import { openKernel } from '../support/kernel.js';
import { kernelFixture } from '../support/kernel-fixture.js';

describe('parent', () => {
  it('is null for a root, and the parent of a child and of a fork', async () => {
    const { kernel } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    const child = await kernel.processes.spawnChild(root);
    const below = await kernel.processes.fork(child);
    expect([await kernel.as(root).parent(), await kernel.as(child).parent(), await kernel.as(below).parent()]).toEqual([
      null,
      root,
      child,
    ]);
  });

  it('is the one that it is now, after it was moved', async () => {
    const { kernel } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    const middle = await kernel.processes.spawnChild(root);
    const moved = await kernel.processes.spawnChild(middle, { onParentExit: 'reparent' });
    const detached = await kernel.processes.spawnChild(middle, { onParentExit: 'detach' });
    await kernel.processes.exit(middle);
    expect([await kernel.as(moved).parent(), await kernel.as(detached).parent()]).toEqual([root, null]);
  });

  it('is refused to a process that has ended, and to one that there is not', async () => {
    const { kernel, refused } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    await kernel.processes.exit(root);
    expect((await refused(() => kernel.as(root).parent())).code).toBe('PROCESS_TERMINATED');
    expect((await refused(() => kernel.as('p_none').parent())).code).toBe('NO_SUCH_PROCESS');
  });

  it('is journalled for a body: a rerun gets what the first run was told', async () => {
    const seen: (Pid | null)[][] = [];
    let middle: Pid = '';
    const kid = defineImage({
      name: 'kid',
      retry: { attempts: 2, baseMs: 1 },
      run: async (ctx) => {
        const before = await ctx.parent();
        if (ctx.attempt === 1) {
          seen.push([before]);
          await kernel.processes.exit(middle);
          throw new Error('again');
        }
        seen.push([before, await ctx.parent()]);
      },
    });
    const kernel = await openKernel({ images: [kid] });
    const root = await kernel.processes.spawn({});
    middle = await kernel.processes.spawnChild(root);
    const pid = await kernel.processes.spawnChild(middle, { image: 'kid', onParentExit: 'reparent' });
    await kernel.processes.result(pid);
    expect(seen).toEqual([[middle], [middle, root]]);
  });
});

describe('the opening prompt of an agent', () => {
  it('names its parent', async () => {
    const model = scriptedModel(() => 'Done.');
    const image = agentImage({ name: 'clerk', model });
    const kernel = await openKernel({ images: [image] });
    const callModel = { resource: 'model:**', rights: ['call' as const], delegable: true };
    const root = await kernel.processes.spawn({ capabilities: [callModel] });
    const delegate = [{ resource: 'model:**', rights: ['call' as const] }];
    const pid = await kernel.processes.spawnChild(root, { image: 'clerk', goal: 'File it.', delegate });
    await kernel.processes.result(pid);
    const text = JSON.stringify(model.doGenerateCalls[0]?.prompt);
    expect(text).toContain(`your parent is process ${root}.`);
    expect(text).toContain('File it.');
  });
});
