import { describe, expect, it } from 'vitest';
import type { Pid, Right } from '../../../src/index.js';
import { checkInvariants } from '../../support/invariants.js';
import { type KernelFixture, kernelFixture } from '../../support/kernel-fixture.js';
import { queuedCalls } from '../../support/queued-calls.js';

interface Family extends KernelFixture {
  readonly root: Pid;
  readonly child: Pid;
  readonly below: Pid;
  readonly stranger: Pid;
}

async function family(): Promise<Family> {
  const set = await kernelFixture();
  const { processes } = set.kernel;
  const root = await processes.spawn({ image: 'worker' });
  const child = await processes.spawnChild(root, { image: 'worker' });
  const below = await processes.spawnChild(child, { image: 'worker' });
  return { ...set, root, child, below, stranger: await processes.spawn({ image: 'worker' }) };
}

describe('kin', () => {
  it('may wait for, signal and write to their children, and write to their parent', async () => {
    const { kernel, root, child, below, stranger } = await family();
    const codes = async (pid: Pid, other: Pid) => {
      const rights: Right[] = ['wait', 'signal', 'send', 'read'];
      return Promise.all(
        rights.map(async (right) => (await kernel.capabilities.check(pid, right, `process:${other}`)).code),
      );
    };
    const none = 'NO_CAPABILITY';
    expect(await codes(root, child)).toEqual(['KIN', 'KIN', 'KIN', none]);
    expect(await codes(child, root)).toEqual([none, none, 'KIN', none]);
    for (const other of [below, stranger, root, 'p_none'])
      expect(await codes(root, other)).toEqual([none, none, none, none]);
  });

  it('are named as such by require, explain and the record', async () => {
    const { kernel, root, child } = await family();
    const resource = `process:${child}`;
    expect(await kernel.capabilities.require(root, 'send', resource)).toMatchObject({ code: 'KIN', capability: 'kin' });
    expect(await kernel.capabilities.explain(root, 'send', resource)).toMatchObject({
      effect: 'allow',
      capability: 'kin',
      nearest: [],
    });
    const { items } = await kernel.audit.list({ capability: 'kin' });
    expect(items).toMatchObject([{ actor: root, action: 'capability.require', code: 'KIN', right: 'send' }]);
  });

  it('signal and wait through the face of a process, and the record says by what', async () => {
    const { kernel, path, root, child } = await family();
    await kernel.as(root).pause(child);
    await kernel.as(root).kill(child);
    await kernel.as(root).wait(child);
    const { items } = await kernel.audit.list({ actor: root, capability: 'kin' });
    expect(items.map(({ action, target }) => [action, target === child])).toEqual([
      ['process.pause', true],
      ['process.pause', false],
      ['process.kill', true],
      ['process.kill', false],
      ['process.wait', true],
    ]);
    await checkInvariants(kernel, path);
  });

  it('are refused to signal what a rule forbids, with nothing changed', async () => {
    const { kernel, root, child, refused } = await family();
    await kernel.capabilities.deny(root, { resource: `process:${child}`, rights: ['signal'] });
    const face = kernel.as(root);
    for (const attempt of [face.kill, face.cancel, face.pause, face.resume]) {
      expect(await refused(() => attempt(child))).toEqual({
        code: 'CAPABILITY_DENIED',
        facts: { pid: root, right: 'signal', resource: `process:${child}`, code: 'DENY_RULE', nearest: [] },
      });
    }
    await kernel.processes.kill(child);
    expect((await face.wait(child)).outcome.kind).toBe('killed');
  });

  it('are refused to wait where a rule forbids it, also one that came while they waited', async () => {
    const { kernel, root, child, refused } = await family();
    const resource = `process:${child}`;
    const waiting = kernel.as(root).wait(child);
    const outcome = waiting.then(
      () => 'returned',
      ({ code }) => code,
    );
    await queuedCalls(kernel);
    const rule = await kernel.capabilities.deny('*', { resource, rights: ['wait'] });
    await kernel.processes.kill(child);
    expect(await outcome).toBe('CAPABILITY_DENIED');
    for (const attempt of [
      () => kernel.as(root).wait(child),
      () => kernel.as(root).waitAny(),
      () => kernel.as(root).waitAll([child]),
      () => kernel.processes.wait(root, child),
    ]) {
      expect((await refused(attempt)).code).toBe('CAPABILITY_DENIED');
    }
    await kernel.capabilities.lift(rule.id);
    expect((await kernel.as(root).waitAny()).pid).toBe(child);
  });
});

describe('a capability on a process', () => {
  it('lets a stranger signal it, and takes a use', async () => {
    const { kernel, root, stranger, refused } = await family();
    const face = kernel.as(stranger);
    expect((await refused(() => face.pause(root))).code).toBe('NOT_A_CHILD');
    const { id } = await kernel.capabilities.grant(stranger, {
      resource: `process:${root}`,
      rights: ['signal'],
      uses: 1,
    });
    await face.pause(root);
    expect((await kernel.audit.list({ action: 'process.pause', target: root, outcome: 'ok' })).items).toMatchObject([
      { actor: stranger, capability: id },
    ]);
    expect((await refused(() => face.resume(root))).code).toBe('NOT_A_CHILD');
  });

  it('does not make a scope of what a process gives as a target', async () => {
    const { kernel, root, child, refused } = await family();
    const scope = { tree: root } as never;
    expect((await refused(() => kernel.as(child).kill(scope))).code).toBe('INVALID_INPUT');
  });
});
