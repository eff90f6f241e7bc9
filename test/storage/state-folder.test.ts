import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createKernel } from '../../src/index.js';
import { newStore, openKernel, refusal, tempFolder } from '../support/kernel.js';
import { hashFiles } from '../support/storage/files.js';
import { oldLayout } from '../support/storage/old-layout.js';

describe('a store with key, checkpoints and output beside it', () => {
  it('gets a state folder at its next opening for writing, and loses nothing', async () => {
    const { store, key, command } = await oldLayout();
    const lines = readFileSync(`${store}.checkpoints`, 'utf8');
    const kernel = await openKernel({ store });
    expect((await kernel.audit.checkpoint()).key).toBe(key);
    expect(await kernel.audit.verify()).toMatchObject({ ok: true });
    expect(await kernel.processes.readOutput(command)).toMatchObject({ text: 'kept\n' });
    expect(readFileSync(`${store}.state/checkpoints`, 'utf8').startsWith(lines)).toBe(true);
    expect(statSync(`${store}.state`).mode & 0o777).toBe(0o700);
    expect(statSync(`${store}.state/key`).mode & 0o777).toBe(0o600);
    const beside = readdirSync(dirname(store)).filter((name) => !name.startsWith('test.db-'));
    expect(beside.sort()).toEqual(['test.db', 'test.db.state']);
  });

  it('is read where it lies by a kernel that only reads, which moves nothing and goes on after the move', async () => {
    const { store, command } = await oldLayout();
    const before = hashFiles(dirname(store));
    const reading = await openKernel({ store, readOnly: true });
    const check = async () => {
      expect(await reading.audit.verify()).toMatchObject({ ok: true });
      expect(await reading.processes.readOutput(command)).toMatchObject({ text: 'kept\n' });
    };
    await check();
    const { 'test.db-shm': _shm, 'test.db-wal': _wal, ...after } = hashFiles(dirname(store));
    const { 'test.db-shm': _oldShm, 'test.db-wal': _oldWal, ...files } = before;
    expect(after).toEqual(files);
    await openKernel({ store, node: { executor: false } });
    expect(existsSync(`${store}.checkpoints`)).toBe(false);
    await check();
  });

  it('keeps what is in the state folder already, and leaves another key where it is', async () => {
    const { store, key } = await oldLayout();
    const first = await createKernel({ logger: 'silent', store });
    await first.shutdown();
    writeFileSync(`${store}.key`, 'another key');
    mkdirSync(`${store}.output`);
    writeFileSync(`${store}.output/99.out`, 'late');
    const second = await openKernel({ store });
    expect((await second.audit.checkpoint()).key).toBe(key);
    expect(readFileSync(`${store}.key`, 'utf8')).toBe('another key');
    expect(readFileSync(`${store}.state/output/99.out`, 'utf8')).toBe('late');
    expect(existsSync(`${store}.output`)).toBe(false);
  });

  it('is moved into the folder that is named', async () => {
    const { store, key } = await oldLayout();
    const state = join(tempFolder(), 'a', 'b');
    const kernel = await openKernel({ store, state });
    expect((await kernel.audit.checkpoint()).key).toBe(key);
    expect(readdirSync(state).sort()).toEqual(['checkpoints', 'key', 'output']);
    expect(existsSync(`${store}.state`)).toBe(false);
  });
});

describe('a state folder', () => {
  it('is made readable for its owner only, also one that exists', async () => {
    const state = tempFolder();
    mkdirSync(join(state, 'open'), { mode: 0o755 });
    await openKernel({ state: join(state, 'open') });
    expect(statSync(join(state, 'open')).mode & 0o777).toBe(0o700);
  });

  it('that cannot be made is STORE_IO, and the store stays closed', async () => {
    const store = await newStore();
    const file = join(tempFolder(), 'file');
    writeFileSync(file, '');
    expect(await refusal(createKernel({ logger: 'silent', store, state: join(file, 'state') }))).toMatchObject({
      code: 'STORE_IO',
    });
    expect(await refusal(createKernel({ logger: 'silent', store, state: file }))).toMatchObject({ code: 'STORE_IO' });
    await openKernel({ store });
  });
});
