import { expect, it } from 'vitest';
import {
  defineImage,
  defineTool,
  isKernelError,
  KernelError,
  type KernelErrorCode,
  type Syscalls,
} from '../../src/index.js';
import { openKernel } from '../support/kernel.js';

/** The error classes as another copy of the package has them, such as one in a bundle. */
async function otherCopy(): Promise<typeof import('../../src/base/errors.js')> {
  const address = new URL('../../src/base/errors.ts', import.meta.url).pathname;
  return import(/* @vite-ignore */ `${address}?copy`);
}

async function errorOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => undefined,
    (error: unknown) => error,
  );
}

it('recognizes an error by its code, and its facts have the types that they are declared with', async () => {
  const { processes } = await openKernel();
  const pid = await processes.spawn({ goal: 'work', budget: { tokens: 100 } });
  const error = await errorOf(processes.charge(pid, { tokens: 500 }));
  if (!isKernelError(error, 'NO_SUCH_PROCESS', 'BUDGET_EXCEEDED')) throw error;
  if (error.code !== 'BUDGET_EXCEEDED') throw error;
  expect(error.facts).toEqual({ dimension: 'tokens', process: pid, limit: 100, used: 0, reserved: 0, asked: 500 });
  expect(isKernelError(error)).toBe(true);
  expect(isKernelError(error, 'NO_SUCH_PROCESS')).toBe(false);
});

it('recognizes nothing else, whatever was thrown', () => {
  const unreadable = new Proxy(
    {},
    {
      has: () => {
        throw new Error('not for you');
      },
    },
  );
  const lookalike = { name: 'KernelError', code: 'CONFLICT', message: '', facts: {}, hint: '', retryable: false };
  for (const thrown of [new Error('CONFLICT'), lookalike, unreadable, null, undefined, 'CONFLICT', 7])
    expect(isKernelError(thrown)).toBe(false);
});

it('recognizes errors of another copy of the package, which are of another class', async () => {
  const { InputError } = await otherCopy();
  const error = new InputError('INVALID_INPUT', 'n: is not a number.', { facts: { path: 'n', problem: 'no number' } });
  expect(error).not.toBeInstanceOf(KernelError);
  expect(isKernelError(error)).toBe(true);
  expect(isKernelError(error, 'INVALID_INPUT')).toBe(true);
  expect(isKernelError(error, 'CONFLICT')).toBe(false);
});

it('keeps code and facts of an error of another copy that a body or a tool throws', async () => {
  const { ToolError } = await otherCopy();
  const foreign = (code: KernelErrorCode): KernelError => new ToolError(code, 'Not now.', { facts: { until: 7 } });
  const busy = defineTool({
    name: 'busy',
    description: 'Is never free.',
    input: { type: 'object' },
    effect: 'pure',
    run: () => {
      throw foreign('UNSUPPORTED');
    },
  });
  const image = defineImage({
    name: 'calls',
    tools: ['busy'],
    run: async (ctx: Syscalls) => {
      await ctx.tools.call('busy', {}).catch((error: unknown) => {
        if (!isKernelError(error, 'UNSUPPORTED')) throw error;
      });
      throw foreign('MODEL_FAILED');
    },
  });
  const { processes } = await openKernel({ tools: [busy], images: [image] });
  const grants = [{ resource: 'tool:busy', rights: ['call' as const] }];
  const { outcome } = await processes.result(await processes.spawn({ image: 'calls', capabilities: grants }));
  expect(outcome).toMatchObject({ kind: 'failed', reason: 'MODEL_FAILED', evidence: { facts: { until: 7 } } });
});
