import { describe, expect, it } from 'vitest';
import { defineImage, externalImage } from '../../src/index.js';
import { checkInvariants, findLost } from '../support/invariants.js';
import { tempFolder } from '../support/kernel.js';
import { kernelFixture, worker } from '../support/kernel-fixture.js';

const schema = {
  '~standard': {
    version: 1 as const,
    vendor: 'test',
    validate: (value: unknown) =>
      typeof value === 'object' && value !== null && 'n' in value && typeof value.n === 'number'
        ? { value: { n: value.n, checked: true } }
        : { issues: [{ message: 'n is not a number', path: ['n'] }] },
  },
};

describe('spawn', () => {
  it('creates a root process with everything in its spec, in one commit', async () => {
    const { kernel, path } = await kernelFixture();
    const pid = await kernel.processes.spawn({
      image: 'worker',
      goal: 'Write the report',
      name: 'writer',
      labels: { team: 'a' },
      owner: { session: 's1', turn: 't1' },
      budget: { tokens: 100, children: 2 },
      onParentExit: 'reparent',
    });
    const record = await kernel.processes.get(pid);
    const { createdAt } = record;
    expect(record).toEqual({
      pid,
      parent: null,
      bornUnder: null,
      root: pid,
      depth: 0,
      kind: 'agent',
      status: 'runnable',
      image: 'worker@1',
      name: 'writer',
      labels: { team: 'a' },
      owner: { session: 's1', turn: 't1' },
      cwd: '.',
      goal: expect.stringMatching(/^o_/),
      args: {},
      queue: 'default',
      recovery: 'rerun',
      budget: { tokens: 100, children: 2, depth: 64 },
      used: { toolCalls: 0, tokens: 0, costMicros: 0, materializedTokens: 0, outputBytes: 0, storedBytes: 27 },
      generation: 1,
      attempt: 1,
      onParentExit: 'reparent',
      // Nobody runs the body here.
      wait: { kind: 'image', what: 'worker@1', since: createdAt },
      createdAt,
      updatedAt: createdAt,
    });
    expect(await kernel.memory.read(pid, record.goal)).toMatchObject({
      type: 'goal',
      payload: { text: 'Write the report' },
      immutable: true,
      createdBy: pid,
    });
    await checkInvariants(kernel, path);
  });

  it('without anything makes an external process that lives until it is ended', async () => {
    const { kernel } = await kernelFixture();
    const pid = await kernel.processes.spawn({});
    expect(await kernel.processes.get(pid)).toMatchObject({ kind: 'external', status: 'created', image: 'base@1' });
    expect(await kernel.memory.read(pid, (await kernel.processes.get(pid)).goal)).toMatchObject({ payload: {} });
  });

  it('held gives a paused process with runnable behind it', async () => {
    const { kernel } = await kernelFixture();
    const pid = await kernel.processes.spawn({ image: 'worker', held: true });
    expect((await kernel.processes.get(pid)).status).toBe('paused');
    await kernel.processes.resume(pid);
    expect((await kernel.processes.get(pid)).status).toBe('runnable');
  });

  it('writes the event and the record of the spawn', async () => {
    const { kernel } = await kernelFixture();
    const pid = await kernel.processes.spawn({ goal: { a: 1 } });
    const { goal, createdAt: at } = await kernel.processes.get(pid);
    const { items: events } = await kernel.events.list({ pid });
    expect(events).toEqual([
      {
        seq: expect.any(Number),
        type: 'process.spawned',
        at,
        pid,
        root: pid,
        node: kernel.nodeId,
        data: { parent: null, image: 'base@1', kind: 'external', goal },
      },
    ]);
    const { items: records } = await kernel.audit.list({ target: pid });
    expect(records).toMatchObject(
      [{ at, actor: 'host', via: /^host:/, action: 'process.spawn', outcome: 'ok', after: 'created', target: pid }].map(
        (record) => ({ ...record, via: expect.stringMatching(/^host:/) }),
      ),
    );
  });

  it('takes the last registered version of an image, or the one that is named', async () => {
    const { kernel } = await kernelFixture();
    kernel.images.register(externalImage({ name: 'tool', version: '1' }));
    kernel.images.register(externalImage({ name: 'tool', version: '2' }));
    const latest = await kernel.processes.spawn({ image: 'tool' });
    const first = await kernel.processes.spawn({ image: 'tool@1' });
    expect((await kernel.processes.get(latest)).image).toBe('tool@2');
    expect((await kernel.processes.get(first)).image).toBe('tool@1');
  });

  it('refuses an image that nobody registered, and leaves nothing behind', async () => {
    const { kernel, refused } = await kernelFixture();
    expect((await refused(() => kernel.processes.spawn({ image: 'nobody' }))).code).toBe('NO_SUCH_IMAGE');
    expect((await refused(() => kernel.processes.spawn({ image: 'worker@9' }))).code).toBe('NO_SUCH_IMAGE');
  });

  it('refuses a second registration of the same version', async () => {
    const { kernel } = await kernelFixture();
    expect(() => kernel.images.register(worker)).toThrow(expect.objectContaining({ code: 'CONFLICT' }));
    expect(kernel.images.list()).toEqual(['base@1', 'worker@1']);
  });

  it('hands the arguments through the input schema of the image', async () => {
    const { kernel, row } = await kernelFixture();
    kernel.images.register(externalImage({ name: 'counted', input: schema }));
    const pid = await kernel.processes.spawn({ image: 'counted', args: { n: 1, more: 2 } });
    expect((await row(pid)).args).toBe('{"n":1,"checked":true}');
  });

  it('refuses arguments that the schema refuses, naming where', async () => {
    const { kernel, refused } = await kernelFixture();
    kernel.images.register(externalImage({ name: 'counted', input: schema }));
    expect(await refused(() => kernel.processes.spawn({ image: 'counted', args: { n: 'x' } }))).toMatchObject({
      code: 'INVALID_INPUT',
      facts: { path: 'spec.args.n', problem: 'n is not a number' },
    });
  });

  it('refuses arguments when the schema itself fails', async () => {
    const { kernel, refused } = await kernelFixture();
    const answers: (() => unknown)[] = [
      () => Promise.reject(new Error('broken')),
      () => Promise.reject(Object.create(null)),
      () => undefined,
      () => null,
      () => ({ value: () => 1 }),
    ];
    for (const [index, validate] of answers.entries()) {
      const input = { '~standard': { ...schema['~standard'], validate: validate as never } };
      kernel.images.register(externalImage({ name: `broken-${index}`, input }));
      expect((await refused(() => kernel.processes.spawn({ image: `broken-${index}` }))).code).toBe('INVALID_INPUT');
    }
  });

  it('gives the root what it is granted', async () => {
    const { kernel } = await kernelFixture();
    const pid = await kernel.processes.spawn({ capabilities: [{ resource: 'tool:search', rights: ['call'] }] });
    const held = await kernel.capabilities.list(pid);
    expect(held.map(({ resource, rights, grantedBy }) => ({ resource, rights, grantedBy }))).toEqual([
      { resource: `ns:process/${pid}/**`, rights: expect.arrayContaining(['read', 'write']), grantedBy: 'kernel' },
      { resource: 'tool:search', rights: ['call'], grantedBy: 'host' },
    ]);
  });

  it('refuses a bad grant, and leaves nothing behind', async () => {
    const { kernel, refused } = await kernelFixture();
    const spawn = (resource: string) => () =>
      kernel.processes.spawn({ capabilities: [{ resource, rights: ['call'] }] });
    expect((await refused(spawn('*:*'))).code).toBe('INVALID_INPUT');
    expect((await refused(spawn('nothing'))).code).toBe('INVALID_INPUT');
    expect((await refused(spawn('tool:'))).code).toBe('INVALID_INPUT');
  });

  it('with the authority that the image requires is allowed', async () => {
    const { kernel } = await kernelFixture();
    kernel.images.register(externalImage({ name: 'mailer', requires: [{ resource: 'tool:mail', rights: ['call'] }] }));
    const pid = await kernel.processes.spawn({
      image: 'mailer',
      capabilities: [{ resource: 'tool:**', rights: ['call'] }],
    });
    expect((await kernel.processes.get(pid)).image).toBe('mailer@1');
  });

  it('refuses a process that would lack what its image requires', async () => {
    const { kernel, refused } = await kernelFixture();
    kernel.images.register(externalImage({ name: 'mailer', requires: [{ resource: 'tool:mail', rights: ['call'] }] }));
    expect((await refused(() => kernel.processes.spawn({ image: 'mailer' }))).code).toBe('CAPABILITY_DENIED');
    expect(
      (
        await refused(() =>
          kernel.processes.spawn({ image: 'mailer', capabilities: [{ resource: 'tool:other', rights: ['call'] }] }),
        )
      ).code,
    ).toBe('CAPABILITY_DENIED');
  });

  it('refuses properties that a spec does not have', async () => {
    const { kernel, refused } = await kernelFixture();
    const odd = { goal: 'x', delegate: [] };
    expect(await refused(() => kernel.processes.spawn(odd))).toMatchObject({
      code: 'INVALID_INPUT',
      facts: { unknown: ['delegate'] },
    });
  });

  it('keeps the environment of a process once per content', async () => {
    const { kernel, row } = await kernelFixture();
    const a = await kernel.processes.spawn({ env: { A: '1', B: '2' } });
    const b = await kernel.processes.spawn({ env: { B: '2', A: '1' } });
    const c = await kernel.processes.spawn({ env: { A: '2' } });
    expect((await row(a)).env).toBe((await row(b)).env);
    expect((await row(c)).env).not.toBe((await row(a)).env);
  });

  it('refuses an environment variable that no shell could name', async () => {
    const { kernel, refused } = await kernelFixture();
    for (const name of ['', '1A', 'A=B', 'A B']) {
      expect((await refused(() => kernel.processes.spawn({ env: { [name]: 'x' } }))).code).toBe('INVALID_INPUT');
    }
  });

  it('is there after the kernel was closed and opened again', async () => {
    const first = await kernelFixture();
    const pid = await first.kernel.processes.spawn({ goal: 'stay' });
    const before = await first.kernel.processes.get(pid);
    await first.kernel.shutdown();
    const { createKernel } = await import('../../src/index.js');
    await using second = await createKernel({
      logger: 'silent',
      store: first.path,
      workspace: tempFolder(),
      node: { executor: false },
    });
    expect(await second.processes.get(pid)).toEqual(before);
    expect(await findLost(first.path, [pid])).toEqual([]);
    expect(await findLost(first.path, ['p_none'])).toEqual(['p_none is lost']);
  });
});

describe('spawn with an id', () => {
  it('gives the same process for the same spec, also when it has ended', async () => {
    const { kernel, path } = await kernelFixture();
    const spec = { id: 'job-1', goal: 'once', labels: { a: 'b' } };
    const pid = await kernel.processes.spawn(spec);
    expect(await kernel.processes.spawn({ labels: { a: 'b' }, goal: 'once', id: 'job-1' })).toBe(pid);
    await kernel.processes.exit(pid);
    expect(await kernel.processes.spawn(spec)).toBe(pid);
    expect((await kernel.processes.list()).items.length).toBe(1);
    await checkInvariants(kernel, path);
  });

  it('makes one process of many concurrent calls', async () => {
    const { kernel } = await kernelFixture();
    const pids = await Promise.all(Array.from({ length: 20 }, () => kernel.processes.spawn({ id: 'one' })));
    expect(new Set(pids).size).toBe(1);
    expect((await kernel.processes.list()).items.length).toBe(1);
  });

  it('refuses another spec for the same id', async () => {
    const { kernel, refused } = await kernelFixture();
    const pid = await kernel.processes.spawn({ id: 'job', goal: 'a' });
    expect(await refused(() => kernel.processes.spawn({ id: 'job', goal: 'b' }))).toEqual({
      code: 'CONFLICT',
      facts: { id: 'job', pid, members: ['goal'] },
    });
    expect((await refused(() => kernel.processes.spawn({ id: 'job' }))).code).toBe('CONFLICT');
    expect((await refused(() => kernel.processes.spawn({ id: 'job', goal: 'a', budget: { tokens: 1 } }))).code).toBe(
      'CONFLICT',
    );
    expect(
      (
        await refused(() =>
          kernel.processes.spawn({ id: 'job', goal: 'a', capabilities: [{ resource: 'tool:x', rights: ['call'] }] }),
        )
      ).code,
    ).toBe('CONFLICT');
  });

  it('keeps ids of roots and ids of children apart', async () => {
    const { kernel } = await kernelFixture();
    const root = await kernel.processes.spawn({ id: 'a' });
    const child = await kernel.processes.spawnChild(root, { id: 'a' });
    const other = await kernel.processes.spawnChild(child, { id: 'a' });
    expect(new Set([root, child, other]).size).toBe(3);
  });

  it('refuses an invalid id', async () => {
    const { kernel, refused } = await kernelFixture();
    for (const id of ['', '.a', '-a', 'a b', 'a/b', 'ä', 'a\n', 'a'.repeat(65)]) {
      expect([id, (await refused(() => kernel.processes.spawn({ id }))).code]).toEqual([id, 'INVALID_INPUT']);
    }
    expect(await kernel.processes.spawn({ id: 'a'.repeat(64) })).toMatch(/^p_/);
  });
});

describe('images', () => {
  const unreadable = () => {
    throw new Error('not for you');
  };

  it('refuses what is not an image', async () => {
    const { kernel } = await kernelFixture();
    const bad: unknown[] = [
      null,
      'x',
      {},
      { ...worker, name: '' },
      { ...worker, name: 'a b', version: '2' },
      { ...worker, version: '' },
      { ...worker, name: 'x', run: 'x' },
      { ...worker, name: 'x', kind: 'other' },
      { ...worker, name: 'x', more: 1 },
      { ...worker, name: 'x', input: {} },
      { ...worker, name: 'x', retry: { attempts: 0 } },
      { ...worker, name: 'x', requires: [{ resource: '*', rights: ['call'] }] },
      Object.defineProperty({ ...worker, name: 'x' }, 'version', { enumerable: true, get: unreadable }),
      new Proxy({ ...worker, name: 'x' }, { get: unreadable }),
    ];
    for (const image of bad) {
      expect(() => kernel.images.register(image as never)).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }));
    }
    expect(kernel.images.list()).toEqual(['base@1', 'worker@1']);
  });

  it('copies kind, recovery and retry to the row', async () => {
    const { kernel, row } = await kernelFixture();
    const retry = { attempts: 3, baseMs: 10, permanent: () => false };
    kernel.images.register(defineImage({ name: 'tried', recovery: 'fail', retry, run: async () => null }));
    const pid = await kernel.processes.spawn({ image: 'tried' });
    expect(await row(pid)).toMatchObject({ kind: 'agent', recovery: 'fail', retry: '{"attempts":3,"baseMs":10}' });
  });
});
