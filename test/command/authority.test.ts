import { mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { PlannedCommand } from '../../src/command/plan/planned-command.js';
import { defineImage } from '../../src/index.js';
import { commandFixture } from '../support/command-fixture.js';
import { checkInvariants } from '../support/invariants.js';
import { refusal } from '../support/kernel.js';

describe('the right to run a command', () => {
  it('is `call` on the name of the program, and on nothing else', async () => {
    const { kernel, store, pid, face } = await commandFixture({
      capabilities: [{ resource: 'command:echo', rights: ['call'] }],
    });
    expect((await face.run({ argv: ['echo', 'hello'] })).stdout).toBe('hello\n');
    const denied = await refusal(face.run({ argv: ['true'] }));
    expect(denied).toMatchObject({ code: 'CAPABILITY_DENIED', facts: { resource: 'command:true', right: 'call' } });
    // A path is another name, also that of the same file.
    const found = realpathSync('/bin/echo');
    const byPath = await refusal(face.run({ argv: ['/bin/echo', 'hello'] }));
    expect(byPath.facts).toMatchObject({ resource: `command:abs${found}` });
    expect((await kernel.processes.children(pid)).length).toBe(1);
    await checkInvariants(kernel, store);
  });

  it('is refused without a look for secrets in the command line', async () => {
    const { kernel, pid, face } = await commandFixture({
      capabilities: [
        { resource: 'command:echo', rights: ['call'], constraints: { argv: { eq: ['echo', 'a'] } } },
        { resource: 'command:id', rights: ['call'] },
      ],
    });
    await kernel.capabilities.deny(pid, { resource: 'command:id', rights: ['call'] });
    const shown = vi.spyOn(PlannedCommand.prototype, 'shown', 'get');
    onTestFinished(() => shown.mockRestore());
    for (const argv of [['true'], ['echo', 'b'], ['id'], ['/usr/bin/id']])
      expect((await refusal(face.run({ argv }))).code).toBe('CAPABILITY_DENIED');
    expect(shown).not.toHaveBeenCalled();
    await face.run({ argv: ['echo', 'a'] });
    expect(shown).toHaveBeenCalled();
  });

  it('on a file goes by where its links lead', async () => {
    const { kernel, workspace, pid, face } = await commandFixture({ capabilities: [] });
    mkdirSync(path.join(workspace, 'bin'));
    writeFileSync(path.join(workspace, 'bin/real'), '#!/bin/sh\necho "$0 $1"\n', { mode: 0o755 });
    symlinkSync('real', path.join(workspace, 'bin/link'));
    const real = path.join(realpathSync(workspace), 'bin/real');
    await kernel.capabilities.grant(pid, { resource: `command:abs${real}`, rights: ['call'] });
    expect((await face.run({ argv: ['./bin/link', 'x'] })).stdout).toBe(`${real} x\n`);
    expect((await face.run({ argv: [real, 'y'] })).stdout).toBe(`${real} y\n`);
    await kernel.capabilities.grant(pid, { resource: 'command:link', rights: ['call'] });
    symlinkSync('/bin/true', path.join(workspace, 'bin/other'));
    expect((await refusal(face.run({ argv: ['./bin/other'] }))).code).toBe('CAPABILITY_DENIED');
  });

  it('is not got by a program of the same name on the PATH of the command', async () => {
    const { workspace, face } = await commandFixture({
      capabilities: [{ resource: 'command:true', rights: ['call'] }],
    });
    writeFileSync(path.join(workspace, 'true'), '#!/bin/sh\necho mine\n', { mode: 0o755 });
    expect((await face.run({ argv: ['true'], env: { PATH: workspace } })).stdout).toBe('');
  });

  it('can be limited to certain arguments', async () => {
    const { face } = await commandFixture({
      capabilities: [
        {
          resource: 'command:echo',
          rights: ['call'],
          constraints: { argv: { subset: ['echo', 'a', 'b'] }, env: { eq: {}, optional: true } },
        },
      ],
    });
    expect((await face.run({ argv: ['echo', 'b', 'a'] })).stdout).toBe('b a\n');
    for (const spec of [
      { argv: ['echo', 'c'] },
      { argv: ['echo', 'a'], env: { X: '1' } },
      { argv: ['echo'], stdin: '' },
    ]) {
      expect((await refusal(face.run(spec))).code).toBe('CAPABILITY_DENIED');
    }
  });

  it('needs a place among the children, and a process that is not being stopped', async () => {
    const { kernel, pid, face } = await commandFixture({ budget: { children: 0 } });
    expect(await refusal(face.run({ argv: ['true'] }))).toMatchObject({
      code: 'BUDGET_EXCEEDED',
      facts: { dimension: 'children', process: pid },
    });
    await kernel.processes.exit(pid);
    expect((await refusal(face.run({ argv: ['true'] }))).code).toBe('PROCESS_TERMINATED');
  });

  it('can be forbidden by a rule, on the command and on the image of commands', async () => {
    const { kernel, pid, face } = await commandFixture();
    const rule = await kernel.capabilities.deny(pid, { resource: 'command:rm', rights: ['call'] });
    expect((await refusal(face.run({ argv: ['rm', '-rf', 'x'] }))).code).toBe('CAPABILITY_DENIED');
    await kernel.capabilities.lift(rule.id);
    await kernel.capabilities.deny(pid, { resource: 'image:command', rights: ['spawn'] });
    expect((await refusal(face.run({ argv: ['true'] }))).code).toBe('CAPABILITY_DENIED');
  });

  it('is on record as an intent and an outcome of the same effect', async () => {
    const { kernel, pid, face } = await commandFixture();
    const { pid: good } = await face.run({ argv: ['true'] });
    const { pid: bad } = await face.run({ argv: ['false'] });
    const { items } = await kernel.audit.list({ action: 'command.run' });
    const [capability] = await kernel.capabilities.list(pid);
    const effects = items.map(({ actor, target, resource, right, effectId, outcome }) => {
      return { actor, target, resource, right, effectId, outcome };
    });
    const of = (target: string, resource: string, outcome: string) => {
      return { actor: pid, target, resource, right: 'call', effectId: target, outcome };
    };
    expect(effects).toEqual([
      of(good, 'command:true', 'intent'),
      of(good, 'command:true', 'ok'),
      of(bad, 'command:false', 'intent'),
      of(bad, 'command:false', 'failed'),
    ]);
    expect(new Set(items.map((item) => item.capability)).size).toBe(1);
    expect(capability).toBeDefined();
  });
});

describe('a rule that asks', () => {
  const asker = defineImage({
    name: 'asker',
    run: async (ctx) =>
      (await ctx.run({ argv: ['sh', '-c', 'echo ran >> log; echo "$0"', '--password=hunter2hunter2'] })).stdout,
  });

  it('holds the command until a person has said yes, and it runs once', async () => {
    const { kernel, workspace, store } = await commandFixture({}, { images: [asker] });
    await kernel.capabilities.ask('*', { resource: 'command:**', rights: ['call'] });
    const pid = await kernel.processes.spawn({
      image: 'asker',
      capabilities: [{ resource: 'command:sh', rights: ['call'] }],
    });
    await expect.poll(async () => (await kernel.approvals.list({ pid })).length).toBe(1);
    const [approval] = await kernel.approvals.list({ pid });
    expect(approval).toMatchObject({ resource: 'command:sh', right: 'call' });
    expect(readdirSync(workspace)).toEqual([]);
    await kernel.approvals.answer(approval?.id ?? '', { decision: 'once', by: 'ann' });
    expect((await kernel.processes.result(pid)).value).toBe('--password=hunter2hunter2\n');
    expect(readFileSync(path.join(workspace, 'log'), 'utf8')).toBe('ran\n');
    await checkInvariants(kernel, store);
  });

  it('that is answered with no leaves nothing behind', async () => {
    const { kernel, workspace, pid, face } = await commandFixture();
    await kernel.capabilities.ask(pid, { resource: 'command:sh', rights: ['call'] });
    const running = face.run({ argv: ['sh', '-c', 'echo ran > log'] }).catch((error) => error);
    await expect.poll(async () => (await kernel.approvals.list()).length).toBe(1);
    const [asked] = await kernel.approvals.list();
    await kernel.approvals.answer(asked?.id ?? '', { decision: 'deny', by: 'ann' });
    expect(await running).toMatchObject({ code: 'APPROVAL_DENIED' });
    expect(readdirSync(workspace)).toEqual([]);
    expect(await kernel.processes.children(pid)).toEqual([]);
  });
});

describe('a secret', () => {
  it('in arguments, environment or input is nowhere in the database, its log and its exports', async () => {
    const { kernel, store, pid, face } = await commandFixture();
    await kernel.capabilities.ask(pid, { resource: 'command:env', rights: ['call'] });
    const secret = 'hunter2-5f0d9c1ba7';
    const running = face.run({
      argv: ['env', '--', 'sh', '-c', 'test "$0" = "--token" && test -n "$1"', '--token', secret],
      env: { PLAIN_NAME: secret },
      stdin: secret,
    });
    await expect.poll(async () => (await kernel.approvals.list()).length).toBe(1);
    const [approval] = await kernel.approvals.list();
    expect(approval?.args).toMatchObject({
      argv: ['env', '--', 'sh', '-c', expect.any(String), '--token', '[redacted]'],
      env: ['PLAIN_NAME'],
      stdin: `[${secret.length} bytes]`,
    });
    await kernel.approvals.answer(approval?.id ?? '', { decision: 'once', by: 'ann' });
    expect((await running).exitCode).toBe(0);
    await kernel.capabilities.deny(pid, { resource: 'command:sh', rights: ['call'] });
    await face.run({ argv: ['sh', `--key=${secret}`] }).catch(() => undefined);
    await face.run({ argv: ['no-such-program', '--password', secret] }).catch(() => undefined);
    let exported = '';
    for await (const line of kernel.audit.export()) exported += line;
    expect(exported).toContain('command.run');
    expect(exported).not.toContain(secret);
    const folder = path.dirname(store);
    for (const name of readdirSync(folder)) {
      if (name.endsWith('.state')) continue;
      expect({ name, holds: readFileSync(path.join(folder, name)).includes(secret) }).toEqual({ name, holds: false });
    }
  });
});

describe('a budget of outputBytes', () => {
  it('is charged with what commands write, to every account above them', async () => {
    const { kernel, store, pid, face } = await commandFixture({ budget: { outputBytes: 1_000 } });
    await face.run({ argv: ['sh', '-c', 'printf 12345; printf 123 >&2'] });
    expect((await kernel.processes.budget(pid)).outputBytes).toMatchObject({ used: 8, left: 992, overrun: 0 });
    await checkInvariants(kernel, store);
  });

  it('stops a command that writes more', async () => {
    const { kernel, store, pid, face } = await commandFixture({ budget: { outputBytes: 10_000 } });
    const result = await face.run({ argv: ['sh', '-c', 'while :; do echo 0123456789; done'] });
    expect(result.signal).not.toBeNull();
    expect((await kernel.processes.get(result.pid)).outcome).toMatchObject({
      kind: 'budget_exhausted',
      reason: 'outputBytes',
    });
    const { used, overrun, left } = (await kernel.processes.budget(pid)).outputBytes;
    expect({ isOver: used > 10_000, overrun, left }).toEqual({ isOver: true, overrun: used - 10_000, left: 0 });
    await checkInvariants(kernel, store);
  });

  it('that is set while a command runs binds it too', async () => {
    const { kernel, pid, face } = await commandFixture();
    const { pid: child } = await face.run({
      argv: ['sh', '-c', 'while :; do echo 0123456789; sleep 0.01; done'],
      background: true,
    });
    await kernel.processes.waitOutput(child, '0123');
    await kernel.processes.setBudget(pid, { outputBytes: 100 });
    expect((await kernel.processes.result(child)).outcome.kind).toBe('budget_exhausted');
  });
});
