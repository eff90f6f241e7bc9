import { accessSync, chmodSync, constants } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createKernel, type Kernel } from '../../src/index.js';
import { newStore, openKernel, refusal } from '../support/kernel.js';
import { hashFiles } from '../support/storage/files.js';
import { findInconsistencies } from '../support/store-consistency.js';

describe('a kernel that only reads', () => {
  it('answers questions, refuses every change with STORE_READONLY, and changes no byte', async () => {
    const { store, pid } = await closedStore();
    const before = hashFiles(dirname(store));
    const kernel = await createKernel({ logger: 'silent', store, readOnly: true });
    expect(await kernel.processes.get(pid)).toMatchObject({ pid, name: 'kept' });
    expect(await kernel.audit.verify()).toMatchObject({ ok: true });
    expect(await findInconsistencies(kernel)).toEqual([]);
    for (const call of changes(kernel, pid)) expect(await refusal(call())).toMatchObject({ code: 'STORE_READONLY' });
    await kernel.shutdown();
    const { 'test.db-shm': _shm, 'test.db-wal': wal = noBytes, ...after } = hashFiles(dirname(store));
    expect({ ...after, wal }).toEqual({ ...before, wal: noBytes });
  });

  it('has nothing to read in memory, and says so', async () => {
    expect(await refusal(createKernel({ logger: 'silent', readOnly: true }))).toMatchObject({ code: 'STORE_IO' });
  });

  it('sees what a running kernel commits', async () => {
    const store = await newStore();
    const writing = await openKernel({ store });
    const reading = await openKernel({ store, readOnly: true });
    const pid = await writing.processes.spawn({ name: 'seen' });
    expect(await reading.processes.get(pid)).toMatchObject({ name: 'seen' });
    await writing.processes.exit(pid, { result: 1 });
    expect(await reading.processes.result(pid)).toMatchObject({ value: 1 });
  });
});

describe('a file that may not be written', () => {
  it('is STORE_READONLY for a kernel that writes, and stays as it was', async ({ skip }) => {
    const { store } = await closedStore();
    chmodSync(store, 0o444);
    if (isWritable(store)) skip('this user may write every file');
    const before = hashFiles(dirname(store));
    expect(await refusal(createKernel({ logger: 'silent', store }))).toMatchObject({ code: 'STORE_READONLY' });
    expect(hashFiles(dirname(store))['test.db']).toEqual(before['test.db']);
  });

  it('and may not be read either is STORE_IO', async ({ skip }) => {
    const { store } = await closedStore();
    chmodSync(store, 0o000);
    if (isWritable(store)) skip('this user may read every file');
    for (const readOnly of [false, true]) {
      expect(await refusal(createKernel({ logger: 'silent', store, readOnly }))).toMatchObject({ code: 'STORE_IO' });
    }
  });

  it('cannot be created in a folder that may not be written: STORE_IO', async ({ skip }) => {
    const store = await newStore();
    chmodSync(dirname(store), 0o555);
    if (isWritable(dirname(store))) skip('this user may write every folder');
    expect(await refusal(createKernel({ logger: 'silent', store }))).toMatchObject({ code: 'STORE_IO' });
  });
});

const noBytes = '0 bytes, e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

function changes(kernel: Kernel, pid: string): (() => Promise<unknown>)[] {
  const { processes } = kernel;
  return [
    () => processes.spawn({}),
    () => processes.spawnChild(pid, {}),
    () => processes.fork(pid, {}),
    () => processes.exit(pid),
    () => processes.cancel(pid),
    () => processes.charge(pid, { tokens: 1 }),
    () => processes.setBudget(pid, { tokens: 1 }),
    () => processes.prune({ endedBefore: 1 }),
    () => kernel.capabilities.grant(pid, { resource: 'tool:t', rights: ['call'] }),
  ];
}

async function closedStore(): Promise<{ store: string; pid: string }> {
  const store = await newStore();
  const kernel = await createKernel({ logger: 'silent', store });
  const pid = await kernel.processes.spawn({ name: 'kept' });
  await kernel.shutdown();
  return { store, pid };
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    // The answer of the system is the point.
    return false;
  }
}
