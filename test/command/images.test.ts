import { mkdirSync, realpathSync, rmdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { commandImage, defineImage } from '../../src/index.js';
import { commandFixture, findOsProcesses, uniqueSeconds } from '../support/command-fixture.js';
import { checkInvariants } from '../support/invariants.js';
import { newStore, openKernel, refusal, tempFolder } from '../support/kernel.js';

const greet = commandImage({
  name: 'greet',
  command: 'sh',
  input: z.strictObject({ name: z.string() }),
  args: ({ name }: { name: string }) => ['-c', 'echo "$GREETING $0"', name],
  env: { GREETING: 'hello' },
});
const sleeper = commandImage({
  name: 'sleeper',
  command: 'sleep',
  args: ({ seconds }: { seconds: string }) => [seconds],
});

describe('a command image', () => {
  it('has a program, and is not what the commands of processes are', async () => {
    const kernel = await openKernel();
    expect(await refusal(kernel.processes.spawn({ image: 'command' }))).toMatchObject({ code: 'NO_SUCH_IMAGE' });
    const none = { ...greet, command: undefined } as never;
    expect(() => kernel.images.register(none)).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }));
    const taken = commandImage({ name: 'command', command: 'true' });
    expect(() => kernel.images.register(taken)).toThrow(expect.objectContaining({ code: 'CONFLICT' }));
    expect(kernel.images.list()).toEqual(['base@1']);
  });

  it('is spawned like any other: the arguments of the process make the command', async () => {
    const { kernel, store } = await commandFixture({}, { images: [greet] });
    const pid = await kernel.processes.spawn({ image: 'greet', args: { name: 'world' }, name: 'greeter' });
    const { status, value } = await kernel.processes.result(pid);
    expect({ status, value }).toMatchObject({ status: 'exited', value: { stdout: 'hello world\n', exitCode: 0 } });
    expect(await kernel.processes.get(pid)).toMatchObject({
      kind: 'command',
      image: 'greet@1',
      name: 'greeter',
      command: { line: 'sh -c "echo "$GREETING $0"" world'.replaceAll('"$', '\\"$').replace('$0""', '$0\\""') },
    });
    expect((await refusal(kernel.processes.spawn({ image: 'greet', args: { name: 7 } }))).code).toBe('INVALID_INPUT');
    await checkInvariants(kernel, store);
  });

  it('under a process needs that the process may call the command', async () => {
    const { kernel, store } = await commandFixture({}, { images: [greet] });
    const sh = [{ resource: 'command:sh', rights: ['call' as const] }];
    const able = await kernel.processes.spawn({ capabilities: sh });
    const child = await kernel.processes.spawnChild(able, { image: 'greet', args: { name: 'child' } });
    expect(await kernel.processes.wait(able, child)).toMatchObject({ value: { stdout: 'hello child\n' } });
    const forked = await kernel.as(able).fork({ image: 'greet', args: { name: 'fork' } });
    expect(await kernel.processes.wait(able, forked)).toMatchObject({ value: { stdout: 'hello fork\n' } });
    const unable = await kernel.processes.spawn({});
    for (const make of [
      () => kernel.processes.spawnChild(unable, { image: 'greet', args: { name: 'x' } }),
      () => kernel.as(unable).fork({ image: 'greet', args: { name: 'x' } }),
      () => kernel.as(unable).exec({ image: 'greet', args: { name: 'x' } }),
    ]) {
      expect(await refusal(make())).toMatchObject({
        code: 'CAPABILITY_DENIED',
        facts: { right: 'call', resource: 'command:sh' },
      });
    }
    expect(await kernel.processes.children(unable)).toEqual([]);
    const intents = (await kernel.audit.list({ action: 'command.run' })).items.filter(
      ({ outcome }) => outcome === 'intent',
    );
    expect(intents.map(({ actor }) => actor)).toEqual([able, able]);
    await checkInvariants(kernel, store);
  });

  it('can take the place of a body by exec, by what the process held until then', async () => {
    const body = defineImage({
      name: 'body',
      run: async (ctx) => ctx.exec({ image: 'greet', args: { name: 'new life' } }),
    });
    const { kernel, store } = await commandFixture({}, { images: [greet, body] });
    const capabilities = [{ resource: 'command:sh', rights: ['call' as const] }];
    const pid = await kernel.processes.spawn({ image: 'body', capabilities });
    expect(await kernel.processes.result(pid)).toMatchObject({
      status: 'exited',
      value: { stdout: 'hello new life\n' },
    });
    expect(await kernel.processes.get(pid)).toMatchObject({ kind: 'command', image: 'greet@1', generation: 2 });
    await checkInvariants(kernel, store);
  });

  it('gets what its process and the parent of it were spawned with', async () => {
    const show = commandImage({ name: 'show', command: 'sh', args: ['-c', 'echo $ONE $TWO'], envMode: 'clean' });
    const { kernel, pid } = await commandFixture({ env: { ONE: 'parent', TWO: 'parent' } }, { images: [show] });
    const child = await kernel.processes.spawnChild(pid, { image: 'show', env: { TWO: 'own' } });
    expect(await kernel.processes.result(child)).toMatchObject({ value: { stdout: 'parent own\n' } });
  });

  it('runs where its process works, or in a folder of its own', async () => {
    const workspace = tempFolder();
    mkdirSync(path.join(workspace, 'a'));
    mkdirSync(path.join(workspace, 'b'));
    const here = commandImage({ name: 'here', command: 'pwd' });
    const there = commandImage({ name: 'there', command: 'pwd', cwd: 'b' });
    const { kernel } = await commandFixture({}, { workspace, images: [here, there] });
    const real = realpathSync(workspace);
    const of = async (image: string) => {
      const { value } = await kernel.processes.result(await kernel.processes.spawn({ image, cwd: 'a' }));
      return (value as { stdout: string }).stdout;
    };
    expect([await of('here'), await of('there')]).toEqual([`${real}/a\n`, `${real}/b\n`]);
  });

  it('is allowed by the folder that it runs in, inherited or named, and where its links lead', async () => {
    const workspace = tempFolder();
    for (const folder of ['a', 'b']) mkdirSync(path.join(workspace, folder));
    symlinkSync('b', path.join(workspace, 'link'));
    const here = commandImage({ name: 'here', command: 'pwd' });
    const { kernel, store } = await commandFixture({}, { workspace, images: [here] });
    const inA = {
      resource: 'command:pwd',
      rights: ['call'],
      constraints: { argv: { eq: ['pwd'] }, cwd: { in: ['a', 'link'] } },
    } as const;
    const spawnIn = (cwd: string) =>
      kernel.processes.spawn({ cwd, capabilities: [inA, { resource: 'fs:**', rights: ['read'] }] });
    const able = await spawnIn('a');
    const child = await kernel.processes.spawnChild(able, { image: 'here' });
    const { value } = await kernel.processes.result(child);
    expect((value as { stdout: string }).stdout).toBe(`${realpathSync(workspace)}/a\n`);
    const refusals = [
      () => kernel.processes.spawnChild(able, { image: 'here', cwd: 'b' }),
      async () => kernel.processes.spawnChild(await spawnIn('b'), { image: 'here' }),
      async () => kernel.processes.fork(await spawnIn('link'), { image: 'here' }),
      async () => kernel.processes.exec(await spawnIn('b'), { image: 'here' }),
    ];
    for (const spawn of refusals) expect((await refusal(spawn())).facts).toMatchObject({ code: 'CONSTRAINT' });
    await kernel.processes.exec(able, { image: 'here' });
    expect((await kernel.processes.result(able)).outcome.kind).toBe('completed');
    await checkInvariants(kernel, store);
  });

  it('whose folder is gone when it is started has failed', async () => {
    const workspace = tempFolder();
    mkdirSync(path.join(workspace, 'gone'));
    const there = commandImage({ name: 'there', command: 'pwd', cwd: 'gone' });
    const { kernel, store } = await commandFixture({}, { workspace, images: [there] });
    rmdirSync(path.join(workspace, 'gone'));
    const pid = await kernel.processes.spawn({ image: 'there' });
    expect((await kernel.processes.result(pid)).outcome).toMatchObject({ kind: 'failed', reason: 'not_started' });
    await checkInvariants(kernel, store);
  });

  it('that is held starts when it is resumed', async () => {
    const { kernel, store } = await commandFixture({}, { images: [greet] });
    const pid = await kernel.processes.spawn({ image: 'greet', args: { name: 'later' }, held: true });
    expect((await kernel.processes.get(pid)).status).toBe('paused');
    await kernel.processes.resume(pid);
    expect(await kernel.processes.result(pid)).toMatchObject({ value: { stdout: 'hello later\n' } });
    const other = await kernel.processes.spawn({ image: 'greet', args: { name: 'never' }, held: true });
    await kernel.processes.cancel(other);
    expect((await kernel.processes.get(other)).status).toBe('killed');
    await checkInvariants(kernel, store);
  });

  it('has a time limit, and may be stopped', async () => {
    const slow = commandImage({ name: 'slow', command: 'sleep', args: ['600'], timeoutMs: 100 });
    const { kernel } = await commandFixture({}, { images: [slow, sleeper] });
    const late = await kernel.processes.spawn({ image: 'slow' });
    expect((await kernel.processes.result(late)).outcome.kind).toBe('timed_out');
    const seconds = uniqueSeconds();
    const pid = await kernel.processes.spawn({ image: 'sleeper', args: { seconds } });
    await expect.poll(() => findOsProcesses(seconds).length).toBe(1);
    await kernel.processes.cancel(pid);
    expect((await kernel.processes.result(pid)).outcome.kind).toBe('cancelled');
    expect(findOsProcesses(seconds)).toEqual([]);
  });

  it('is started by a node that has it, and by no other', async () => {
    const store = await newStore();
    const host = await openKernel({ store, node: { executor: false }, images: [greet] });
    const pid = await host.processes.spawn({ image: 'greet', args: { name: 'you' } });
    expect((await host.processes.get(pid)).status).toBe('created');
    const without = await openKernel({ store });
    await without.idle();
    expect((await host.processes.get(pid)).status).toBe('created');
    const able = await openKernel({ store, images: [greet], workspace: tempFolder() });
    expect(await able.processes.result(pid)).toMatchObject({ value: { stdout: 'hello you\n' } });
  });

  it('keeps a node from being idle while it runs', async () => {
    const quick = commandImage({ name: 'quick', command: 'sleep', args: ['0.2'] });
    const { kernel } = await commandFixture({}, { images: [quick] });
    const pid = await kernel.processes.spawn({ image: 'quick' });
    await kernel.idle({ timeoutMs: 20_000 });
    expect((await kernel.processes.get(pid)).status).toBe('exited');
  });

  it('is refused where it could not be run', async () => {
    const { kernel } = await commandFixture();
    const bad = [
      commandImage({ name: 'none', command: '' }),
      commandImage({ name: 'numbers', command: 'x', args: [1] as never }),
      { ...greet, kind: 'agent' as const },
    ];
    for (const image of bad) expect(() => kernel.images.register(image)).toThrowError(/image\./);
    kernel.images.register(commandImage({ name: 'throws', command: 'x', args: () => JSON.parse('{') }));
    kernel.images.register(commandImage({ name: 'lies', command: 'x', args: (() => [7]) as never }));
    for (const image of ['throws', 'lies']) {
      expect((await refusal(kernel.processes.spawn({ image }))).code).toBe('INVALID_INPUT');
    }
  });
});
