import { describe, expect, it } from 'vitest';
import { childFace, defineImage, defineTool } from '../../src/index.js';
import { openKernel, refusal } from '../support/kernel.js';

describe('the face of a child', () => {
  it('is had by the face of its parent, and acts as the child', async () => {
    const whoami = defineTool({
      name: 'whoami',
      description: 'Names who calls.',
      effect: 'pure',
      input: {},
      run: (_args, { pid }) => pid,
    });
    const kernel = await openKernel({ tools: [whoami] });
    const parent = await kernel.processes.spawn({
      capabilities: [{ resource: 'tool:whoami', rights: ['call'], delegable: true }],
    });
    const face = kernel.as(parent);
    const delegate = [{ resource: 'tool:whoami', rights: ['call'] as const }];
    const child = await childFace(face, await face.spawnChild({ delegate }));
    expect(await child.tools.call('whoami')).toBe(child.pid);
    const poor = await childFace(face, await face.spawnChild());
    expect(await refusal(poor.tools.call('whoami'))).toMatchObject({ code: 'CAPABILITY_DENIED' });
    await child.exit({ result: 'done' });
    expect(await kernel.processes.value(child.pid)).toBe('done');
    expect(await refusal(childFace(face, child.pid))).toMatchObject({ code: 'PROCESS_TERMINATED' });
  });

  it('is refused for a process that is no child, for one that is not there, and to a body', async () => {
    const image = defineImage({
      name: 'body',
      run: async (ctx) => (await refusal(childFace(ctx as never, ctx.pid))).code,
    });
    const kernel = await openKernel({ images: [image] });
    const parent = await kernel.processes.spawn();
    const face = kernel.as(parent);
    const grandchild = await kernel.processes.spawnChild(await face.spawnChild());
    for (const pid of [parent, grandchild, await kernel.processes.spawn()]) {
      expect(await refusal(childFace(face, pid))).toMatchObject({
        code: 'NOT_A_CHILD',
        facts: { pid: parent, child: pid },
      });
    }
    expect(await refusal(childFace(face, 'p_nobody' as never))).toMatchObject({ code: 'NO_SUCH_PROCESS' });
    expect(await kernel.processes.value(await kernel.processes.spawn({ image: 'body' }))).toBe('INVALID_INPUT');
  });
});
