import { describe, expect, it, onTestFinished } from 'vitest';
import {
  AuthorityAssertionError,
  createTestKernel,
  expectAllowed,
  expectAsked,
  expectDenied,
} from '../../src/testing/index.js';

/** A process that may mail to one address, search, and pay after a person was asked. */
async function clerk() {
  const kernel = await createTestKernel();
  onTestFinished(async () => void (await kernel.shutdown()));
  const pid = await kernel.processes.spawn({
    capabilities: [
      { resource: 'tool:mail', rights: ['call'], constraints: { to: { in: ['ann@example.com'] } } },
      { resource: 'tool:search', rights: ['call'] },
      { resource: 'tool:pay', rights: ['call'] },
    ],
  });
  await kernel.capabilities.ask(pid, { resource: 'tool:pay', rights: ['call'] });
  return { kernel, pid };
}

async function failure(assertion: Promise<unknown>): Promise<AuthorityAssertionError> {
  const error = await assertion.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof AuthorityAssertionError) return error;
  throw new Error('the assertion has not failed', { cause: error });
}

describe('assertions about authority', () => {
  it('hold for the decision of the kernel, and answer with its explanation', async () => {
    const { kernel, pid } = await clerk();
    expect(await expectAllowed(kernel, pid, 'call', 'tool:search')).toMatchObject({ code: 'ALLOWED' });
    await expectAllowed(kernel, pid, 'call', 'tool:mail', { to: 'ann@example.com' });
    expect(await expectDenied(kernel, pid, 'call', 'tool:mail', { to: 'eve@example.org' })).toMatchObject({
      code: 'CONSTRAINT',
    });
    expect(await expectDenied(kernel, pid, 'call', 'tool:publish')).toMatchObject({ code: 'NO_CAPABILITY' });
    expect(await expectAsked(kernel, pid, 'call', 'tool:pay')).toMatchObject({ code: 'ASK' });
  });

  it('tell what is missing, and what would mend it', async () => {
    const { kernel, pid } = await clerk();
    const error = await failure(expectAllowed(kernel, pid, 'call', 'tool:publish'));
    expect(error.message).toContain(`Process ${pid} may not call tool:publish, but the test expects it to be allowed.`);
    expect(error.message).toContain('decision: deny (NO_CAPABILITY)');
    expect(error.message).toContain('missing:  call on tool:publish');
    expect(error.message).toMatch(/to mend: {2}.*grant/);
    expect(error).toMatchObject({ name: 'AssertionError', code: 'ERR_ASSERTION', actual: 'deny', expected: 'allow' });
    expect(error.explanation.code).toBe('NO_CAPABILITY');
  });

  it('tell which constraint and which rule is in the way', async () => {
    const { kernel, pid } = await clerk();
    const constrained = await failure(expectAllowed(kernel, pid, 'call', 'tool:mail', { to: 'eve@example.org' }));
    expect(constrained.message).toMatch(/nearest: {2}c_\w+ on tool:mail: .*to/);
    const rule = await kernel.capabilities.deny('*', { resource: 'tool:search', rights: ['call'] });
    const denied = await failure(expectAllowed(kernel, pid, 'call', 'tool:search'));
    expect(denied.message).toContain(`rules:    ${rule.id}`);
    const asked = await failure(expectAllowed(kernel, pid, 'call', 'tool:pay'));
    expect(asked.message).toContain('has to ask a person before it may call tool:pay');
  });

  it('tell by which capability it is allowed, where it should not be', async () => {
    const { kernel, pid } = await clerk();
    const error = await failure(expectDenied(kernel, pid, 'call', 'tool:search'));
    expect(error.message).toContain(`Process ${pid} may call tool:search, but the test expects it to be denied.`);
    expect(error.message).toMatch(new RegExp(`by: {7}c_\\w+ on tool:search, held by ${pid}`));
    expect(error.message).toMatch(/to mend: {2}revoke c_\w+, or capabilities\.deny/);
    expect((await failure(expectDenied(kernel, pid, 'call', 'tool:pay'))).message).toContain('to be denied');
    expect((await failure(expectAsked(kernel, pid, 'call', 'tool:search'))).message).toContain('to be asked about');
  });

  it('do not take a question without a form for a refusal', async () => {
    const { kernel, pid } = await clerk();
    expect((await failure(expectDenied(kernel, pid, 'call', 'tol:search'))).message).toContain('BAD_REQUEST');
    expect((await failure(expectDenied(kernel, pid, 'cal' as never, 'tool:x'))).message).toContain('BAD_REQUEST');
  });

  it('use up and record nothing', async () => {
    const { kernel, pid } = await clerk();
    const before = (await kernel.audit.list({ limit: 1_000 })).items.length;
    await expectAllowed(kernel, pid, 'call', 'tool:search');
    await failure(expectAllowed(kernel, pid, 'call', 'tool:publish'));
    expect((await kernel.audit.list({ limit: 1_000 })).items).toHaveLength(before);
  });
});
