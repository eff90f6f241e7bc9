import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';

/** Runs a program in which a body has begun calls that it does not wait for yet, and answers with what it printed. */
function run(end: string): string {
  const program = `
    import { createKernel, defineImage } from './src/index.ts';
    const image = defineImage({
      name: 'busy',
      run: async (ctx) => {
        const begun = [
          ctx.sleep(1_000_000),
          ctx.memory.update('o_none', 1),
          ctx.capabilities.derive({ resource: 'tool:x', rights: ['call'] }),
          ctx.step('breaks', () => Promise.reject(new Error('broken'))),
        ];
        await new Promise((resolve) => setTimeout(resolve, 300));
        await Promise.all(begun);
      },
    });
    const kernel = await createKernel({ images: [image] });
    const pid = await kernel.processes.spawn({ image: 'busy' });
    await new Promise((resolve) => setTimeout(resolve, 100));
    ${end}
    await kernel.shutdown({ graceMs: 10 });
    console.log('still there');
  `;
  const args = ['--import', 'tsx', '--input-type=module', '--eval', program];
  return execFileSync(process.execPath, args, { encoding: 'utf8', stdio: 'pipe' }).trimEnd();
}

describe('a call that a body has begun and does not wait for yet', () => {
  // It was an unhandled rejection, which ended the program of the host.
  it('is no danger to the host when it fails, and fails the body when that waits for it', () => {
    const told = run('console.log((await kernel.processes.result(pid)).outcome.kind);');
    expect(told.split('\n')).toEqual(['failed', 'still there']);
  });

  it('is no danger to the host when its process is cancelled', () => {
    expect(run("await kernel.processes.cancel(pid, 'enough');")).toBe('still there');
  });

  it('is no danger to the host when the kernel is closed', () => {
    expect(run('')).toBe('still there');
  });
});
