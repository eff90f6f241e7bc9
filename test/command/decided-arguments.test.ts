import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type CapabilitySpec, commandImage, type Image } from '../../src/index.js';
import { anyCommand, commandFixture, uniqueSeconds } from '../support/command-fixture.js';
import { checkInvariants } from '../support/invariants.js';
import { newStore, openKernel, refusal, tempFolder } from '../support/kernel.js';

describe('the options of a command', () => {
  const argv = ['true'];
  const onlyArgv: CapabilitySpec = { resource: 'command:true', rights: ['call'], constraints: { argv: { eq: argv } } };

  it('are among the arguments of the decision when they are not the default', async () => {
    const { kernel, pid, face } = await commandFixture({ capabilities: [onlyArgv] });
    for (const option of [
      { survive: true },
      { background: true },
      { timeoutMs: 60_000 },
      { timeoutMs: 1 },
      { stdin: '' },
    ]) {
      const [name = ''] = Object.keys(option);
      const denied = await refusal(face.run({ argv, ...option }));
      expect(denied).toMatchObject({ code: 'CAPABILITY_DENIED', facts: { code: 'CONSTRAINT' } });
      expect(JSON.stringify(denied.facts)).toContain(`"failed":"${name}: `);
    }
    expect(await kernel.processes.children(pid)).toEqual([]);
    const defaults = { survive: false, background: false, env: {} };
    expect((await face.run({ argv, ...defaults })).exitCode).toBe(0);
  });

  it('can be allowed one by one, and an image has them too', async () => {
    const images = [
      commandImage({ name: 'limited', command: 'true', timeoutMs: 60_000 }),
      commandImage({ name: 'surviving', command: 'true', survive: true }),
    ];
    const constraints = { argv: { eq: argv }, timeoutMs: { range: [1, 70_000] as const, optional: true as const } };
    const { kernel, face } = await commandFixture(
      { capabilities: [{ ...onlyArgv, constraints } as CapabilitySpec] },
      { images },
    );
    expect((await face.run({ argv, timeoutMs: 60_000 })).exitCode).toBe(0);
    expect((await refusal(face.run({ argv, timeoutMs: 80_000 }))).facts).toMatchObject({ code: 'CONSTRAINT' });
    const child = await face.spawnChild({ image: 'limited' });
    expect((await kernel.processes.result(child)).status).toBe('exited');
    expect((await refusal(face.spawnChild({ image: 'surviving' }))).facts).toMatchObject({ code: 'CONSTRAINT' });
  });

  it('leave the tool that runs commands as it was', async () => {
    const { face } = await commandFixture({
      capabilities: [onlyArgv, { resource: 'tool:command.run', rights: ['call'] }],
    });
    expect(await face.tools.call('command.run', { argv })).toMatchObject({ exitCode: 0 });
    expect((await refusal(face.tools.call('command.run', { argv, timeoutMs: 7_000 }))).facts).toMatchObject({
      code: 'CONSTRAINT',
    });
  });

  it('are part of what an approval is bound to, and shown by it', async () => {
    const { kernel, pid, face } = await commandFixture();
    await kernel.capabilities.ask(pid, { resource: 'command:sleep', rights: ['call'] });
    const seconds = uniqueSeconds();
    const begun = face.run({ argv: ['sleep', seconds], background: true, timeoutMs: 900_000 });
    await expect.poll(async () => (await kernel.approvals.list({ pid })).length).toBe(1);
    const [approval] = await kernel.approvals.list({ pid });
    expect(approval?.args).toMatchObject({ background: true, timeoutMs: 900_000 });
    await kernel.approvals.answer(approval?.id ?? '', { decision: 'always', scope: 'args', by: 'ann' });
    await kernel.processes.cancel((await begun).pid);
    const surviving = face.run({ argv: ['sleep', seconds], background: true, timeoutMs: 900_000, survive: true });
    await expect.poll(async () => (await kernel.approvals.list({ pid })).length).toBe(1);
    const [asked] = await kernel.approvals.list({ pid });
    expect(asked?.args).toMatchObject({ survive: true });
    await kernel.approvals.answer(asked?.id ?? '', { decision: 'deny', by: 'ann' });
    expect((await refusal(surviving)).code).toBe('APPROVAL_DENIED');
  });
});

describe('a command image', () => {
  const workspace = tempFolderOfAll();
  const mark = (name: string) => path.join(workspace(), name);

  /** Spawns a process of the image with one kernel, and has another one start it, which knows the image as `other`. */
  async function runElsewhere(image: Image, other: Image, env?: Record<string, string>) {
    const store = await newStore();
    const first = await openKernel({ store, workspace: workspace(), node: { executor: false }, images: [image] });
    const parent = await first.processes.spawn({ capabilities: [anyCommand] });
    const pid = await first.processes.spawnChild(parent, { image: image.name, ...(env === undefined ? {} : { env }) });
    const second = await openKernel({ store, workspace: workspace(), images: [other] });
    const { outcome } = await second.processes.result(pid);
    await checkInvariants(second, store);
    return outcome;
  }

  it('runs in another program what was decided on at its birth', async () => {
    const image = commandImage({ name: 'same', command: 'touch', args: [mark('same')], env: { A: '1' } });
    expect(await runElsewhere(image, image, { B: '2' })).toMatchObject({ kind: 'completed' });
    expect(existsSync(mark('same'))).toBe(true);
  });

  it('runs nothing where that would be anything else', async () => {
    const decided = { name: 'changed', command: 'true', args: ['x'] };
    const others = {
      argv: { ...decided, args: ['y'] },
      program: { ...decided, command: 'touch', args: [mark('program')] },
      env: { ...decided, env: { LD_PRELOAD: './evil.so' } },
      cwd: { ...decided, cwd: '.' },
      stdin: { ...decided, stdin: 'other' },
      survive: { ...decided, survive: true },
      timeoutMs: { ...decided, timeoutMs: 5_000 },
      envMode: { ...decided, envMode: 'replace' as const },
    };
    for (const [name, other] of Object.entries(others)) {
      const outcome = await runElsewhere(commandImage(decided), commandImage(other));
      expect({ name, outcome }).toMatchObject({
        name,
        outcome: { kind: 'failed', reason: 'not_started', evidence: { errno: 'COMMAND_CHANGED' } },
      });
    }
    expect(existsSync(mark('program'))).toBe(false);
  });

  it('is asked for its command once per decision and once per start, and another answer is not run', async () => {
    let calls = 0;
    const image = commandImage({
      name: 'fickle',
      command: 'sh',
      args: () => ['-c', calls++ === 0 ? 'true' : `touch ${mark(`fickle-${calls}`)}`],
    });
    const { kernel, face } = await commandFixture({}, { workspace: workspace(), images: [image] });
    const pid = await face.spawnChild({ image: 'fickle' });
    expect((await kernel.processes.result(pid)).outcome).toMatchObject({
      kind: 'failed',
      evidence: { errno: 'COMMAND_CHANGED' },
    });
    expect(calls).toBe(2);
    expect(existsSync(mark('fickle-2'))).toBe(false);
  });
});

/** One folder for all kernels of a test. */
function tempFolderOfAll(): () => string {
  let folder: string | undefined;
  return () => {
    if (folder === undefined || !existsSync(folder)) folder = tempFolder();
    return folder;
  };
}
