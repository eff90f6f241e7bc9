import { execFileSync } from 'node:child_process';
import { beforeAll, describe, expect, it } from 'vitest';
import { builtPackage } from '../support/built-package.js';

let library = '';
beforeAll(async () => {
  library = `${await builtPackage()}/dist/index.js`;
}, 120_000);

const begunCalls = `
  const begun = [
    ctx.sleep(1_000_000),
    ctx.memory.update('o_none', 1),
    ctx.capabilities.derive({ resource: 'tool:x', rights: ['call'] }),
    ctx.step('breaks', () => Promise.reject(new Error('broken'))),
  ];
  await new Promise((resolve) => setTimeout(resolve, 300));
  await Promise.all(begun);
`;

/** A branch that the body waits for later: when the run ends, both are rejected, and nobody waits for the branch. */
const branch = `
  const branch = (async () => {
    await ctx.sleep(1_000_000);
  })();
  await ctx.receive();
  await branch;
`;

/** Runs a program in which a body has begun calls that it does not wait for yet, and answers with what it printed. */
function runProgram(end: string, body = begunCalls, after = ''): string {
  const program = `
    import { createKernel, defineImage } from '${library}';
    const image = defineImage({
      name: 'busy',
      run: async (ctx) => {${body}},
    });
    const kernel = await createKernel({ logger: 'silent', images: [image] });
    const pid = await kernel.processes.spawn({ image: 'busy' });
    const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    while ((await kernel.processes.get(pid)).status === 'runnable') await pause(5);
    await pause(100);
    ${end}
    await kernel.shutdown({ graceMs: 10 });
    console.log('still there');
    ${after}
  `;
  const args = ['--input-type=module', '--eval', program];
  return execFileSync(process.execPath, args, { encoding: 'utf8', stdio: 'pipe' }).trimEnd();
}

describe('a call that a body has begun and does not wait for yet', () => {
  // It was an unhandled rejection, which ended the program of the host.
  it('is no danger to the host when it fails, and fails the body when that waits for it', () => {
    const output = runProgram('console.log((await kernel.processes.result(pid)).outcome.kind);');
    expect(output.split('\n')).toEqual(['failed', 'still there']);
  });

  it('is no danger to the host when its process is cancelled', () => {
    expect(runProgram("await kernel.processes.cancel(pid, 'enough');")).toBe('still there');
  });

  it('is no danger to the host when the kernel is closed', () => {
    expect(runProgram('')).toBe('still there');
  });
});

describe('a branch of a body that nobody waits for', () => {
  for (const [what, end] of [
    ['its process is cancelled', "await kernel.processes.cancel(pid, 'enough');"],
    ['its process is killed', 'await kernel.processes.kill(pid);'],
    ['the kernel is closed', ''],
  ] as const) {
    it(`is no danger to the host when ${what}`, () => {
      const later = 'await pause(50); console.log("and later");';
      expect(runProgram(end, branch, later).split('\n')).toEqual(['still there', 'and later']);
    });
  }

  it('ends the host, as without a kernel, when it is rejected for another reason', () => {
    const own = `void Promise.reject(new Error('of the body itself'));`;
    expect(() => runProgram('', own)).toThrow(/of the body itself/);
  });
});
