import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { type CapabilitySpec, commandImage, type Kernel, KernelError } from '../../src/index.js';
import { anyCommand, commandFixture } from '../support/command-fixture.js';
import { checkInvariants } from '../support/invariants.js';
import { newStore, openKernel, refusal, tempFolder } from '../support/kernel.js';

const printEnvironment = ['-e', 'process.stdout.write(JSON.stringify(process.env))'];
const argv = ['node', ...printEnvironment];
const exactNode: CapabilitySpec = { resource: 'command:node', rights: ['call'], constraints: { argv: { eq: argv } } };
const show = commandImage({ name: 'show', command: 'node', args: printEnvironment });
const base = ['HOME', 'LANG', 'PATH', 'TERM', 'TMPDIR', 'PROCURA_TOKEN', '__CF_USER_TEXT_ENCODING'];

/** What the program has found in its environment beyond the clean base. */
function seenBy({ stdout }: { readonly stdout: string }): Record<string, string> {
  const all = JSON.parse(stdout) as Record<string, string>;
  return Object.fromEntries(Object.entries(all).filter(([name]) => !base.includes(name)));
}

async function resultOf(kernel: Kernel, pid: string) {
  return (await kernel.processes.result(pid)).value as unknown as { stdout: string };
}

/** The error of a refused call. */
async function errorOf(call: Promise<unknown>): Promise<KernelError> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof KernelError) return error;
  throw new Error('the call was not refused', { cause: error });
}

const attacks: Record<string, string> = {
  BASH_ENV: 'evil.sh',
  LD_PRELOAD: '/tmp/evil.so',
  NODE_OPTIONS: '--require ./evil.js',
  GIT_SSH_COMMAND: 'evil',
  PATH: '/tmp/evil',
  HOME: '/tmp/evil',
  X: '',
};

describe('the environment of a command', () => {
  it('does not get past a capability with an exact argv, wherever it is given', async () => {
    const evil = tempFolder();
    writeFileSync(path.join(evil, 'evil.sh'), 'echo foreign code');
    const exact = ['bash', '-c', 'echo own'];
    const { kernel, workspace, store } = await commandFixture({}, { images: [] });
    const mark = path.join(workspace, 'ran');
    writeFileSync(path.join(evil, 'evil.sh'), `touch ${mark}`);
    const env = { BASH_ENV: path.join(evil, 'evil.sh') };
    const capabilities: CapabilitySpec[] = [
      { resource: 'command:bash', rights: ['call', 'grant'], constraints: { argv: { eq: exact } } },
    ];
    kernel.images.register(commandImage({ name: 'plain', command: 'bash', args: exact.slice(1) }));
    kernel.images.register(commandImage({ name: 'with-env', command: 'bash', args: exact.slice(1), env }));
    const pid = await kernel.processes.spawn({ capabilities });
    const inheriting = await kernel.processes.spawn({ capabilities, env });
    const face = kernel.as(pid);
    const tries = [
      () => face.run({ argv: exact, env }),
      () => kernel.as(inheriting).run({ argv: exact }),
      () => face.spawnChild({ image: 'plain', env }),
      () => face.fork({ image: 'plain', env }),
      () => face.spawnChild({ image: 'with-env' }),
      () => face.exec({ image: 'with-env' }),
      () => kernel.as(inheriting).spawnChild({ image: 'plain' }),
      () => kernel.as(inheriting).exec({ image: 'plain' }),
      () => kernel.processes.spawnChild(pid, { image: 'plain', env }),
    ];
    for (const attempt of tries) {
      const denied = await errorOf(attempt());
      expect(denied).toMatchObject({
        code: 'CAPABILITY_DENIED',
        facts: { code: 'CONSTRAINT', resource: 'command:bash' },
      });
      const [nearest] = denied.facts.nearest as unknown as { failed: string }[];
      expect(nearest?.failed).toMatch(/^env: /);
      expect(JSON.stringify([denied.message, denied.hint, denied.facts])).not.toContain('evil.sh');
    }
    expect((await face.run({ argv: exact })).stdout).toBe('own\n');
    const child = await face.spawnChild({ image: 'plain' });
    expect(await face.wait(child)).toMatchObject({ value: { stdout: 'own\n' } });
    expect(readdirSync(workspace)).toEqual([]);
    await checkInvariants(kernel, store);
  });

  it('refuses every variable beyond the clean base, and every other value of one in it', async () => {
    const { face } = await commandFixture({ capabilities: [exactNode] });
    for (const [name, value] of Object.entries(attacks)) {
      expect(await refusal(face.run({ argv, env: { [name]: value } }))).toMatchObject({
        code: 'CAPABILITY_DENIED',
        facts: { code: 'CONSTRAINT' },
      });
    }
    for (const envMode of ['patch', 'replace'] as const) {
      const env = { A: '1' };
      expect((await refusal(face.run({ argv, envMode, env }))).code).toBe('CAPABILITY_DENIED');
    }
    expect(seenBy(await face.run({ argv }))).toEqual({});
    // The kernel's own value changes nothing.
    expect(seenBy(await face.run({ argv, env: { PATH: process.env.PATH ?? '' } }))).toEqual({});
  });

  it('is allowed as far as constraints at or below `env` say', async () => {
    const { kernel, pid, face } = await commandFixture({ capabilities: [] });
    const constraints = {
      argv: { eq: argv },
      'env.CI': { in: ['1', 'true'] },
      'env.COLOR': { any: true, optional: true },
    };
    await kernel.capabilities.grant(pid, { resource: 'command:node', rights: ['call'], constraints } as CapabilitySpec);
    expect(seenBy(await face.run({ argv, env: { CI: '1' } }))).toEqual({ CI: '1' });
    expect(seenBy(await face.run({ argv, env: { CI: 'true', COLOR: 'x' } }))).toEqual({ CI: 'true', COLOR: 'x' });
    for (const env of [{}, { CI: '2' }, { CI: '1', NODE_OPTIONS: '--v8-options' }, { CI: '1', PATH: '/' }]) {
      const denied = await refusal(face.run({ argv, env }));
      expect(denied).toMatchObject({ code: 'CAPABILITY_DENIED', facts: { code: 'CONSTRAINT' } });
      expect(JSON.stringify(denied.facts)).not.toContain('v8-options');
    }
    const wide = await kernel.processes.spawn({
      capabilities: [{ ...exactNode, constraints: { argv: { eq: argv }, env: { any: true } } } as CapabilitySpec],
    });
    expect(seenBy(await kernel.as(wide).run({ argv, env: { ANY: 'thing' } }))).toEqual({ ANY: 'thing' });
  });

  it('is not opened by `*`, which opens every other argument', async () => {
    const constraints = { argv: { eq: argv }, '*': { any: true } };
    const open = { resource: 'command:node', rights: ['call', 'grant'], grantable: ['call'], constraints };
    const { face } = await commandFixture({ capabilities: [open as CapabilitySpec] });
    expect(seenBy(await face.run({ argv, stdin: 'read by nobody' }))).toEqual({});
    const denied = await refusal(face.run({ argv, env: { NODE_OPTIONS: '--v8-options' } }));
    expect(denied).toMatchObject({ code: 'CAPABILITY_DENIED', facts: { code: 'CONSTRAINT' } });
    expect(denied.facts).toMatchObject({ nearest: [{ failed: expect.stringMatching(/^env: /) }] });
    const wider = { ...constraints, 'env.NODE_OPTIONS': { any: true } };
    const delegate = [{ resource: 'command:node', rights: ['call'], constraints: wider } as never];
    expect((await refusal(face.spawnChild({ delegate }))).code).toBe('AMPLIFICATION');
  });

  it('cannot be opened by handing the capability on', async () => {
    const { face } = await commandFixture({
      capabilities: [{ ...exactNode, rights: ['call', 'grant'], grantable: ['call'] } as CapabilitySpec],
    });
    const constraints = { argv: { eq: argv }, env: { any: true } };
    const wider = { resource: 'command:node', rights: ['call'], constraints } as never;
    expect((await refusal(face.spawnChild({ delegate: [wider] }))).code).toBe('AMPLIFICATION');
    const child = await face.spawnChild({
      delegate: [{ resource: 'command:node', rights: ['call'] }],
      env: { A: '1' },
    });
    expect(child).toBeDefined();
  });

  it('is, without constraints, whatever is given, and is decided on as it is run', async () => {
    const { kernel, pid } = await commandFixture({ env: { ONE: 'own', TWO: 'own' } }, { images: [show] });
    const face = kernel.as(pid);
    expect(seenBy(await face.run({ argv, env: { TWO: 'given' } }))).toEqual({ ONE: 'own', TWO: 'given' });
    const child = await face.spawnChild({ image: 'show', env: { TWO: 'child', THREE: 'child' } });
    expect(seenBy(await resultOf(kernel, child))).toEqual({ ONE: 'own', TWO: 'child', THREE: 'child' });
    const replaced = await face.run({ argv, envMode: 'replace', env: { PATH: process.env.PATH ?? '', A: 'b' } });
    expect(seenBy(replaced)).toEqual({ A: 'b' });
    expect(JSON.parse(replaced.stdout).HOME).toBeUndefined();
  });

  it('is part of what an approval is bound to', async () => {
    const { kernel, pid, face } = await commandFixture();
    await kernel.capabilities.ask(pid, { resource: 'command:node', rights: ['call'] });
    const running = face.run({ argv, env: { MODE: 'good-value' } });
    await expect.poll(async () => (await kernel.approvals.list({ pid })).length).toBe(1);
    const [approval] = await kernel.approvals.list({ pid });
    expect(approval?.args).toMatchObject({ env: ['MODE'], envCommitment: expect.stringMatching(/^[0-9a-f]{64}$/) });
    await kernel.approvals.answer(approval?.id ?? '', { decision: 'always', scope: 'args', by: 'ann' });
    expect(seenBy(await running)).toEqual({ MODE: 'good-value' });
    expect(seenBy(await face.run({ argv, env: { MODE: 'good-value' } }))).toEqual({ MODE: 'good-value' });
    const other = face.run({ argv, env: { MODE: 'evil-value' } });
    await expect.poll(async () => (await kernel.approvals.list({ pid })).length).toBe(1);
    const [asked] = await kernel.approvals.list({ pid });
    await kernel.approvals.answer(asked?.id ?? '', { decision: 'deny', by: 'ann' });
    expect((await refusal(other)).code).toBe('APPROVAL_DENIED');
  });

  it('leaves names and a commitment on record, from which no value can be guessed', async () => {
    const { kernel, pid, face } = await commandFixture({ env: { INHERITED: 'inherited-value' } });
    await kernel.capabilities.ask(pid, { resource: 'command:true', rights: ['call'] });
    const running = face.run({ argv: ['true'], env: { GIVEN: 'given-value' } });
    await expect.poll(async () => (await kernel.approvals.list({ pid })).length).toBe(1);
    const [approval] = await kernel.approvals.list({ pid });
    await kernel.approvals.answer(approval?.id ?? '', { decision: 'once', by: 'ann' });
    await running;
    let exported = '';
    for await (const line of kernel.audit.export({ payloads: true })) exported += line;
    const events = JSON.stringify(await kernel.events.list({}));
    expect(exported).toContain('GIVEN');
    expect(exported).toContain('INHERITED');
    const env = { GIVEN: 'given-value', INHERITED: 'inherited-value' };
    const sha = (text: string) => createHash('sha256').update(text).digest('hex');
    const guesses = [
      'given-value',
      'inherited-value',
      sha('given-value'),
      sha(JSON.stringify(env)),
      sha(JSON.stringify({ argv: ['true'], env })),
    ];
    for (const guess of guesses) {
      expect({ guess, isExported: exported.includes(guess) }).toEqual({ guess, isExported: false });
      expect({ guess, isInEvents: events.includes(guess) }).toEqual({ guess, isInEvents: false });
    }
  });
});

describe("the mode 'patch'", () => {
  it('needs read on all secrets', async () => {
    vi.stubEnv('OF_THE_KERNEL', 'kernel-value');
    const patched = commandImage({ name: 'patched', command: 'node', args: printEnvironment, envMode: 'patch' });
    const { kernel, pid, face } = await commandFixture({}, { images: [patched] });
    const tries = [
      () => face.run({ argv, envMode: 'patch' }),
      () => face.spawnChild({ image: 'patched' }),
      () => face.exec({ image: 'patched' }),
    ];
    const some = ['secret:OF_THE_KERNEL', 'secret:*', 'secret:*/*', 'secret:a/**'];
    for (const resource of some) await kernel.capabilities.grant(pid, { resource, rights: ['read'] });
    for (const attempt of tries) {
      expect(await refusal(attempt())).toMatchObject({
        code: 'CAPABILITY_DENIED',
        facts: { right: 'read', resource: 'secret:**' },
      });
    }
    const all = await kernel.capabilities.grant(pid, { resource: 'secret:**', rights: ['read'] });
    expect(seenBy(await face.run({ argv, envMode: 'patch' })).OF_THE_KERNEL).toBe('kernel-value');
    const child = await face.spawnChild({ image: 'patched' });
    expect(seenBy(await resultOf(kernel, child)).OF_THE_KERNEL).toBe('kernel-value');
    const rule = await kernel.capabilities.deny(pid, { resource: 'secret:OF_THE_KERNEL', rights: ['read'] });
    expect((await refusal(face.run({ argv, envMode: 'patch' }))).code).toBe('CAPABILITY_DENIED');
    await kernel.capabilities.lift(rule.id);
    await kernel.capabilities.revoke(all.id);
    expect((await refusal(face.run({ argv, envMode: 'patch' }))).code).toBe('CAPABILITY_REVOKED');
    // The host needs nothing.
    const ofHost = await kernel.processes.spawn({ image: 'patched' });
    expect(seenBy(await resultOf(kernel, ofHost)).OF_THE_KERNEL).toBe('kernel-value');
  });
});

describe('a secret of the environment', () => {
  const value = 'value-of-the-secret-91c2';
  const env = { TOKEN: { secret: 'NAME' } };
  const secrets = async (name: string) => (name === 'NAME' ? value : undefined);
  const mayRead: CapabilitySpec = { resource: 'secret:NAME', rights: ['read'] };
  const withSecret = commandImage({ name: 'with-secret', command: 'node', args: printEnvironment, env });

  it('is given to a program whose process may read it, and to no other', async () => {
    const { kernel, pid, face } = await commandFixture({}, { secrets, images: [show, withSecret] });
    const tries = [
      () => face.run({ argv, env }),
      () => face.spawnChild({ image: 'show', env }),
      () => face.spawnChild({ image: 'with-secret' }),
      () => face.spawnChild({ env }),
      () => face.fork({ env }),
      () => face.exec({ image: 'with-secret' }),
    ];
    for (const attempt of tries) {
      expect(await refusal(attempt())).toMatchObject({
        code: 'CAPABILITY_DENIED',
        facts: { right: 'read', resource: 'secret:NAME' },
      });
    }
    expect(await kernel.processes.children(pid)).toEqual([]);
    const { id } = await kernel.capabilities.grant(pid, { ...mayRead, uses: 4 });
    expect(seenBy(await face.run({ argv, env }))).toEqual({ TOKEN: value });
    const child = await face.spawnChild({ image: 'show', env });
    expect(seenBy(await resultOf(kernel, child))).toEqual({ TOKEN: value });
    const other = await face.spawnChild({ image: 'with-secret' });
    expect(seenBy(await resultOf(kernel, other))).toEqual({ TOKEN: value });
    await face.spawnChild({ env });
    expect((await kernel.capabilities.get(id)).status).toBe('spent');
    // The host needs nothing; a process that was spawned with it needs the right when it runs a command.
    const ofHost = await kernel.processes.spawn({ image: 'with-secret' });
    expect(seenBy(await resultOf(kernel, ofHost))).toEqual({ TOKEN: value });
    const unable = await kernel.processes.spawn({ env, capabilities: [anyCommand] });
    expect((await refusal(kernel.as(unable).run({ argv }))).facts).toMatchObject({ resource: 'secret:NAME' });
    const able = await kernel.processes.spawn({ env, capabilities: [anyCommand, mayRead] });
    expect(seenBy(await kernel.as(able).run({ argv }))).toEqual({ TOKEN: value });
  });

  it('is given through the tool that runs commands', async () => {
    const tool: CapabilitySpec = { resource: 'tool:command.run', rights: ['call'] };
    const { kernel, pid, face } = await commandFixture({ capabilities: [anyCommand, tool] }, { secrets });
    const call = () => face.tools.call('command.run', { argv, env });
    expect((await refusal(call())).facts).toMatchObject({ resource: 'secret:NAME' });
    await kernel.capabilities.grant(pid, mayRead);
    expect(seenBy((await call()) as { stdout: string })).toEqual({ TOKEN: value });
    const plain = { argv, env: { TOKEN: 'plain' } };
    expect((await refusal(face.tools.call('command.run', plain))).code).toBe('INVALID_INPUT');
  });

  it('is decided on by its name', async () => {
    const constraints = { argv: { eq: argv }, 'env.TOKEN': { eq: { secret: 'NAME' } } };
    const { face } = await commandFixture(
      { capabilities: [{ ...exactNode, constraints } as CapabilitySpec, { resource: 'secret:**', rights: ['read'] }] },
      { secrets: (name: string) => (name === 'OTHER' ? 'other' : value) },
    );
    expect(seenBy(await face.run({ argv, env }))).toEqual({ TOKEN: value });
    for (const wrong of [
      { TOKEN: value },
      { TOKEN: { secret: 'OTHER' } },
      { TOKEN: 'NAME' },
      { X: { secret: 'NAME' } },
    ]) {
      expect((await refusal(face.run({ argv, env: wrong }))).facts).toMatchObject({ code: 'CONSTRAINT' });
    }
  });

  it('is looked up when the program is started, and stored nowhere', async () => {
    const store = await newStore();
    const workspace = tempFolder();
    const silent = commandImage({
      name: 'silent',
      command: 'node',
      args: ['-e', 'process.exit(process.env.TOKEN ? 0 : 3)'],
    });
    const first = await openKernel({ store, workspace, node: { executor: false }, images: [silent] });
    const pid = await first.processes.spawn({ capabilities: [anyCommand, mayRead] });
    const child = await first.processes.spawnChild(pid, { image: 'silent', env });
    const second = await openKernel({ store, workspace, images: [silent], secrets });
    expect((await second.processes.result(child)).outcome).toMatchObject({ kind: 'completed', exitCode: 0 });
    await second.capabilities.ask(pid, { resource: 'command:node', rights: ['call'] });
    const running = second.as(pid).run({ argv: ['node', '-e', 'process.exit(process.env.TOKEN ? 0 : 3)'], env });
    await expect.poll(async () => (await second.approvals.list({ pid })).length).toBe(1);
    const [approval] = await second.approvals.list({ pid });
    expect(approval?.args).toMatchObject({ env: ['TOKEN'], envSecrets: { TOKEN: 'NAME' } });
    await second.approvals.answer(approval?.id ?? '', { decision: 'once', by: 'ann' });
    expect((await running).exitCode).toBe(0);
    const folder = path.dirname(store);
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    for (const { name, parentPath } of files) {
      expect({ name, holds: readFileSync(path.join(parentPath, name)).includes(value) }).toEqual({
        name,
        holds: false,
      });
    }
  });

  it('that is missing, or cannot be looked up, is a start that failed and names only the name', async () => {
    const sources = {
      missing: () => undefined,
      rejecting: async () => {
        throw new Error(`cannot give ${value}`);
      },
      throwing: () => {
        throw new Error(`cannot give ${value}`);
      },
      wrong: () => 7 as never,
      nul: () => `${value}\0`,
      none: undefined,
    };
    for (const [name, source] of Object.entries(sources)) {
      const { kernel, face } = await commandFixture(
        { capabilities: [anyCommand, mayRead] },
        { ...(source === undefined ? {} : { secrets: source }), images: [withSecret] },
      );
      const failed = await errorOf(face.run({ argv, env }));
      expect({ name, code: failed.code }).toEqual({ name, code: 'TOOL_FAILED' });
      expect(failed.facts).toMatchObject({ secret: 'NAME' });
      expect(failed.message).toContain('NAME');
      const child = await face.spawnChild({ image: 'with-secret' });
      const { outcome } = await kernel.processes.result(child);
      expect(outcome).toMatchObject({ kind: 'failed', reason: 'not_started', evidence: { secret: 'NAME' } });
      expect(JSON.stringify([failed, failed.message, outcome, await kernel.processes.get(child)])).not.toContain(value);
    }
  });

  it('has a name that a resource can spell', async () => {
    const { kernel, face } = await commandFixture({}, { secrets });
    for (const secret of ['', '*', '**', 'a/*', 'a//b', '../a', 'a\nb', 'x'.repeat(5000), 7, null]) {
      const bad = { TOKEN: { secret } } as never;
      expect((await refusal(face.run({ argv, env: bad }))).code).toBe('INVALID_INPUT');
      expect((await refusal(kernel.processes.spawn({ env: bad }))).code).toBe('INVALID_INPUT');
    }
    const more = { TOKEN: { secret: 'NAME', value: 'x' } } as never;
    expect((await refusal(face.run({ argv, env: more }))).code).toBe('INVALID_INPUT');
    expect((await refusal(openKernel({ secrets: 'NAME' as never }))).code).toBe('INVALID_INPUT');
  });
});
