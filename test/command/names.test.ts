import { copyFileSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { commandImage } from '../../src/index.js';
import { commandFixture } from '../support/command-fixture.js';
import { refusal, tempFolder } from '../support/kernel.js';

const realId = realpathSync('/usr/bin/id');

describe('a rule on a command', () => {
  it('binds it under both of its names', async () => {
    const workspace = tempFolder();
    symlinkSync('/usr/bin/id', path.join(workspace, 'other'));
    symlinkSync('other', path.join(workspace, 'second'));
    const names = [
      'id',
      '/usr/bin/id',
      '/bin/id',
      '/usr/../usr/bin/id',
      realId,
      './other',
      './second',
      '../../../bin/id',
    ];
    const rules = [
      'command:id',
      'command:abs/usr/bin/id',
      `command:abs${realId}`,
      'command:abs/bin/id',
      'command:abs/usr/*/id',
    ];
    const images = names.map((command, index) => commandImage({ name: `image-${index}`, command }));
    const { kernel, pid, face } = await commandFixture({}, { workspace, images });
    const up = `${'../'.repeat(realpathSync(workspace).split('/').length)}usr/bin/id`;
    for (const resource of rules) {
      const rule = await kernel.capabilities.deny(pid, { resource, rights: ['call'] });
      for (const [index, name] of [...names.slice(0, -1), up].entries()) {
        const denied = await refusal(face.run({ argv: [name] }));
        expect({ resource, name, ...denied }).toMatchObject({ resource, name, facts: { code: 'DENY_RULE' } });
        if (index >= names.length - 1) continue;
        expect((await refusal(face.spawnChild({ image: `image-${index}` }))).facts).toMatchObject({
          code: 'DENY_RULE',
        });
      }
      expect((await face.run({ argv: ['true'] })).exitCode).toBe(0);
      await kernel.capabilities.lift(rule.id);
    }
    for (const name of ['id', '/usr/bin/id', './other']) expect((await face.run({ argv: [name] })).exitCode).toBe(0);
  });

  it('is found under every name of it by check, explain and require', async () => {
    const { kernel, pid, face } = await commandFixture();
    for (const rule of ['command:id', 'command:abs/usr/bin/id']) {
      const { id } = await kernel.capabilities.deny(pid, { resource: rule, rights: ['call'] });
      for (const resource of ['command:id', 'command:abs/usr/bin/id', 'command:abs/bin/id']) {
        expect((await kernel.capabilities.check(pid, 'call', resource)).code).toBe('DENY_RULE');
        expect((await face.capabilities.explain('call', resource)).code).toBe('DENY_RULE');
        expect((await refusal(kernel.capabilities.require(pid, 'call', resource))).code).toBe('CAPABILITY_DENIED');
      }
      expect((await kernel.capabilities.check(pid, 'call', 'command:true')).code).toBe('ALLOWED');
      await kernel.capabilities.lift(id);
      expect((await kernel.capabilities.check(pid, 'call', 'command:id')).code).toBe('ALLOWED');
    }
  });

  it('that asks does so under both names', async () => {
    const { kernel, pid, face } = await commandFixture();
    await kernel.capabilities.ask(pid, { resource: 'command:id', rights: ['call'] });
    expect((await kernel.capabilities.check(pid, 'call', 'command:abs/usr/bin/id')).code).toBe('ASK');
    const running = face.run({ argv: ['/usr/bin/id'] });
    await expect.poll(async () => (await kernel.approvals.list({ pid })).length).toBe(1);
    const [approval] = await kernel.approvals.list({ pid });
    expect(approval?.resource).toBe(`command:abs${realId}`);
    await kernel.approvals.answer(approval?.id ?? '', { decision: 'once', by: 'ann' });
    expect((await running).exitCode).toBe(0);
  });

  it('cannot be left behind by handing the other name on', async () => {
    const { kernel, face, pid } = await commandFixture({
      capabilities: [
        { resource: 'command:abs/usr/bin/id', rights: ['call', 'grant'], grantable: ['call'] },
        { resource: 'command:id', rights: ['call', 'grant'], grantable: ['call'] },
      ],
    });
    const other = await kernel.processes.spawn({});
    await kernel.capabilities.grant(pid, { resource: `process:${other}`, rights: ['send'] });
    for (const [rule, handed] of [
      ['command:id', 'command:abs/usr/bin/id'],
      ['command:abs/usr/bin/id', 'command:id'],
    ] as const) {
      const { id } = await kernel.capabilities.deny(pid, { resource: rule, rights: ['call'] });
      const spec = { resource: handed, rights: ['call' as const] };
      expect((await refusal(face.capabilities.delegate(other, spec))).code).toBe('CAPABILITY_DENIED');
      await kernel.capabilities.lift(id);
      expect((await face.capabilities.delegate(other, spec)).resource).toBe(handed);
    }
  });
});

describe('an allow on a command', () => {
  it('goes by one name, as it did', async () => {
    const workspace = tempFolder();
    mkdirSync(path.join(workspace, 'bin'));
    writeFileSync(path.join(workspace, 'bin/id'), '#!/bin/sh\necho mine\n', { mode: 0o755 });
    copyFileSync('/usr/bin/true', path.join(workspace, 'bin/true'));
    const { kernel, pid, face } = await commandFixture(
      { capabilities: [{ resource: 'command:id', rights: ['call'] }] },
      { workspace },
    );
    expect((await face.run({ argv: ['id'] })).exitCode).toBe(0);
    for (const name of ['/usr/bin/id', './bin/id']) {
      expect((await refusal(face.run({ argv: [name] }))).facts).toMatchObject({ code: 'NO_CAPABILITY' });
    }
    await kernel.capabilities.grant(pid, {
      resource: `command:abs${realpathSync(workspace)}/bin/id`,
      rights: ['call'],
    });
    expect((await face.run({ argv: ['./bin/id'] })).stdout).toBe('mine\n');
  });
});
