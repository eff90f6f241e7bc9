import { describe, expect, it } from 'vitest';
import { createKernel, type Kernel, type KernelError, type Pid } from '../../src/index.js';
import { gate } from '../support/gate.js';
import { checkInvariants } from '../support/invariants.js';
import { refusal, tempFolder } from '../support/kernel.js';
import { kernelFixture } from '../support/kernel-fixture.js';

const nothingUsed = { toolCalls: 0, tokens: 0, costMicros: 0, materializedTokens: 0, outputBytes: 0, storedBytes: 0 };

async function spawnFamily(kernel: Kernel, size: number): Promise<[Pid, Pid[]]> {
  const root = await kernel.processes.spawn({});
  const children: Pid[] = [];
  for (let i = 0; i < size; i++) children.push(await kernel.processes.spawnChild(root, {}));
  return [root, children];
}

describe('wait', () => {
  it('returns the result of a child that already exited, with a handle to read it', async () => {
    const { kernel, path } = await kernelFixture();
    const [root, [child = '']] = await spawnFamily(kernel, 1);
    await kernel.processes.charge(child, { tokens: 5 });
    await kernel.processes.exit(child, { result: { answer: 42 }, message: 'done', exitCode: 0 });
    const result = await kernel.processes.wait(root, child);
    expect(result).toEqual({
      pid: child,
      status: 'exited',
      outcome: { kind: 'completed', exitCode: 0 },
      result: expect.objectContaining({ id: expect.stringMatching(/^o_/) }),
      value: { answer: 42 },
      message: 'done',
      exitCode: 0,
      usage: { ...nothingUsed, tokens: 5, storedBytes: 13 },
    });
    expect(await kernel.memory.read(root, result.result?.id ?? '')).toMatchObject({ payload: { answer: 42 } });
    await checkInvariants(kernel, path);
  });

  it('gives the same handle when it is asked again', async () => {
    const { kernel } = await kernelFixture();
    const [root, [child = '']] = await spawnFamily(kernel, 1);
    await kernel.processes.complete(child, 1);
    const first = await kernel.processes.wait(root, child);
    expect(await kernel.processes.wait(root, child)).toEqual(first);
    const { items } = await kernel.events.list({ types: ['process.waited'] });
    expect(items.length).toBe(1);
  });

  it('resolves when the child ends, for many waiters at once, with one outcome', async () => {
    const { kernel } = await kernelFixture();
    const [root, [child = '']] = await spawnFamily(kernel, 1);
    const waits = Array.from({ length: 10 }, () => kernel.processes.wait(root, child));
    await kernel.processes.fail(child, 'no luck');
    const results = await Promise.all(waits);
    expect(new Set(results.map((result) => JSON.stringify(result))).size).toBe(1);
    expect(results[0]).toMatchObject({ status: 'failed', outcome: { kind: 'failed' }, message: 'no luck' });
  });

  it('is woken by an end that another kernel on the same file commits', async () => {
    const { kernel, path } = await kernelFixture();
    const [root, [child = '']] = await spawnFamily(kernel, 1);
    await using other = await createKernel({
      logger: 'silent',
      store: path,
      workspace: tempFolder(),
      node: { executor: false },
    });
    const waiting = kernel.processes.wait(root, child);
    await other.processes.complete(child, 'from afar');
    expect(await waiting).toMatchObject({ status: 'exited', value: 'from afar' });
  });

  it('refuses to wait for itself or for one that stands above, naming the cycle', async () => {
    const { kernel, refused } = await kernelFixture();
    const [root, [child = '']] = await spawnFamily(kernel, 1);
    const grandchild = await kernel.processes.spawnChild(child, {});
    expect(await refused(() => kernel.processes.wait(root, root))).toMatchObject({
      code: 'WAIT_CYCLE',
      facts: { cycle: [root] },
    });
    expect((await refused(() => kernel.processes.wait(grandchild, child))).code).toBe('WAIT_CYCLE');
    expect((await refused(() => kernel.processes.wait(grandchild, root))).code).toBe('WAIT_CYCLE');
  });

  it('refuses a stranger, a grandchild and a process that does not exist', async () => {
    const { kernel, refused } = await kernelFixture();
    const [root, [child = '']] = await spawnFamily(kernel, 1);
    const [, [cousin = '']] = await spawnFamily(kernel, 1);
    const grandchild = await kernel.processes.spawnChild(child, {});
    expect((await refused(() => kernel.processes.wait(root, cousin))).code).toBe('NOT_A_CHILD');
    expect((await refused(() => kernel.processes.wait(root, grandchild))).code).toBe('NOT_A_CHILD');
    expect((await refused(() => kernel.processes.wait(root, 'p_none'))).code).toBe('NO_SUCH_PROCESS');
    expect((await refused(() => kernel.as(root).wait('p_none'))).code).toBe('NOT_A_CHILD');
    expect((await refused(() => kernel.processes.wait('p_none', child))).code).toBe('NO_SUCH_PROCESS');
  });

  it('answers a poll and a timeout with WAIT_TIMEOUT and changes nothing', async () => {
    const { kernel, refused } = await kernelFixture();
    const [root, [child = '']] = await spawnFamily(kernel, 1);
    expect(await refused(() => kernel.processes.wait(root, child, { timeoutMs: 0 }))).toEqual({
      code: 'WAIT_TIMEOUT',
      facts: { children: [child], timeoutMs: 0 },
    });
    expect((await refused(() => kernel.processes.wait(root, child, { timeoutMs: 20 }))).code).toBe('WAIT_TIMEOUT');
    await kernel.processes.complete(child, 1);
    expect(await kernel.processes.wait(root, child, { timeoutMs: 0 })).toMatchObject({ value: 1 });
  });

  it('is given up when its signal aborts', async () => {
    const { kernel, refused } = await kernelFixture();
    const [root, [child = '']] = await spawnFamily(kernel, 1);
    const abort = new AbortController();
    const called = gate();
    const waiting = refused(() => {
      called.open();
      return kernel.processes.wait(root, child, { signal: abort.signal });
    });
    await called.opened;
    abort.abort();
    expect((await waiting).code).toBe('CANCELLED');
    expect((await refused(() => kernel.processes.wait(root, child, { signal: abort.signal }))).code).toBe('CANCELLED');
  });

  it('ends with the waiter: CANCELLED when it is being stopped, PROCESS_TERMINATED when it has ended', async () => {
    const { kernel, edit } = await kernelFixture();
    const [root, [child = '']] = await spawnFamily(kernel, 1);
    await edit(root, { status: 'running', node: 'n_other' });
    await edit(child, { status: 'running', node: 'n_other' });
    const waiting = refusal(kernel.processes.wait(root, child));
    await kernel.processes.signal(root, 'cancel', { tree: false });
    expect((await waiting).code).toBe('CANCELLED');
    const [second, [its = '']] = await spawnFamily(kernel, 1);
    await edit(its, { status: 'running', node: 'n_other' });
    const other = refusal(kernel.processes.wait(second, its));
    await kernel.processes.signal(second, 'kill', { tree: false });
    expect((await other).code).toBe('PROCESS_TERMINATED');
    expect((await refusal(kernel.processes.wait(second, its))).code).toBe('PROCESS_TERMINATED');
  });

  it('still returns an ended child to a waiter that is being stopped', async () => {
    const { kernel, edit } = await kernelFixture();
    const [root, [child = '']] = await spawnFamily(kernel, 1);
    await kernel.processes.complete(child, 'early');
    await edit(root, { status: 'running', node: 'n_other' });
    await kernel.processes.cancel(root);
    expect(await kernel.processes.wait(root, child)).toMatchObject({ value: 'early' });
  });

  it('ends with the kernel', async () => {
    const { kernel } = await kernelFixture();
    const [root, [child = '']] = await spawnFamily(kernel, 1);
    const waiting = refusal(kernel.processes.wait(root, child));
    await kernel.shutdown();
    expect((await waiting).code).toBe('KERNEL_CLOSED');
  });

  it('does not hang when the child is pruned as soon as it ends', async () => {
    const { kernel } = await kernelFixture();
    const [root, [child = '']] = await spawnFamily(kernel, 2);
    const told = async (wait: Promise<unknown>) =>
      wait.then(
        () => 'ended',
        (error: KernelError) => error.code,
      );
    const waits = [
      told(kernel.processes.wait(root, child)),
      told(kernel.processes.waitAll(root, [child])),
      told(kernel.processes.result(child)),
    ];
    for (let look = 0; look < 10; look++) await kernel.processes.get(child);
    await Promise.all([kernel.processes.exit(child), kernel.processes.prune({ endedBefore: Number.MAX_SAFE_INTEGER })]);
    for (const wait of waits) expect(['ended', 'NO_SUCH_PROCESS']).toContain(await wait);
  });
});

describe('waitAny', () => {
  it('returns the first that ended, whatever the order of the list', async () => {
    const { kernel } = await kernelFixture();
    const [root, [a = '', b = '', c = '']] = await spawnFamily(kernel, 3);
    await kernel.processes.complete(b, 'b');
    await kernel.processes.complete(a, 'a');
    expect(await kernel.processes.waitAny(root, [c, a, b])).toMatchObject({ pid: b, value: 'b' });
    expect(await kernel.processes.waitAny(root, [a, b])).toMatchObject({ pid: b });
  });

  it('without a list returns each child once, then NO_CHILDREN', async () => {
    const { kernel, refused } = await kernelFixture();
    const [root, [a = '', b = '']] = await spawnFamily(kernel, 2);
    const waiting = kernel.processes.waitAny(root);
    await kernel.processes.complete(b, 'b');
    expect(await waiting).toMatchObject({ pid: b });
    await kernel.processes.complete(a, 'a');
    expect(await kernel.processes.waitAny(root)).toMatchObject({ pid: a });
    expect((await refused(() => kernel.processes.waitAny(root))).code).toBe('NO_CHILDREN');
    expect((await refused(() => kernel.processes.waitAny(root, []))).code).toBe('NO_CHILDREN');
    expect((await refused(() => kernel.processes.waitAny(b))).code).toBe('PROCESS_TERMINATED');
  });

  it('refuses a list with one stranger in it', async () => {
    const { kernel, refused } = await kernelFixture();
    const [root, [a = '']] = await spawnFamily(kernel, 1);
    const [stranger] = await spawnFamily(kernel, 0);
    await kernel.processes.complete(a, 'a');
    expect((await refused(() => kernel.processes.waitAny(root, [a, stranger]))).code).toBe('NOT_A_CHILD');
    expect((await refused(() => kernel.processes.waitAll(root, [a, stranger]))).code).toBe('NOT_A_CHILD');
  });
});

describe('waitAll', () => {
  it('answers in the order asked, a repeated child repeatedly', async () => {
    const { kernel } = await kernelFixture();
    const [root, [a = '', b = '', c = '']] = await spawnFamily(kernel, 3);
    const waiting = kernel.processes.waitAll(root, [c, a, c]);
    await kernel.processes.complete(a, 'a');
    await kernel.processes.complete(b, 'b');
    await kernel.processes.complete(c, 'c');
    expect((await waiting).map(({ pid, value }) => [pid, value])).toEqual([
      [c, 'c'],
      [a, 'a'],
      [c, 'c'],
    ]);
  });

  it('without a list answers for every child that no wait has returned, in the order of creation', async () => {
    const { kernel, refused } = await kernelFixture();
    const [root, [a = '', b = '', c = '']] = await spawnFamily(kernel, 3);
    for (const pid of [c, b, a]) await kernel.processes.complete(pid, pid);
    await kernel.processes.wait(root, b);
    expect((await kernel.processes.waitAll(root)).map(({ pid }) => pid)).toEqual([a, c]);
    expect((await refused(() => kernel.processes.waitAll(root))).code).toBe('NO_CHILDREN');
    expect(await kernel.processes.waitAll(root, [])).toEqual([]);
  });

  it('times out as a whole when one of them is still there', async () => {
    const { kernel, refused } = await kernelFixture();
    const [root, [a = '', b = '']] = await spawnFamily(kernel, 2);
    await kernel.processes.complete(a, 'a');
    expect((await refused(() => kernel.processes.waitAll(root, [a, b], { timeoutMs: 0 }))).code).toBe('WAIT_TIMEOUT');
  });
});

describe('result', () => {
  it('lets the host wait for any process, and marks nothing as waited for', async () => {
    const { kernel } = await kernelFixture();
    const [root, [child = '']] = await spawnFamily(kernel, 1);
    const waiting = kernel.processes.result(child);
    await kernel.processes.complete(child, ['x']);
    expect(await waiting).toMatchObject({ pid: child, status: 'exited', value: ['x'] });
    expect(await kernel.processes.waitAny(root)).toMatchObject({ pid: child });
  });

  it('refuses an unknown process and polls a live one', async () => {
    const { kernel, refused } = await kernelFixture();
    const [root] = await spawnFamily(kernel, 0);
    expect((await refused(() => kernel.processes.result('p_none'))).code).toBe('NO_SUCH_PROCESS');
    expect((await refused(() => kernel.processes.result(root, { timeoutMs: 0 }))).code).toBe('WAIT_TIMEOUT');
  });
});
