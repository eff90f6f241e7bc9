import { copyFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createKernel, defineImage, type KernelOptions } from '../../src/index.js';
import { eventually } from '../support/eventually.js';
import { newStore, refusal, tempFolder } from '../support/kernel.js';

const lost = { code: 'STORE_IO', facts: { problem: expect.any(String) } };

async function running(options: KernelOptions = {}) {
  const store = join(tempFolder(), 'stores', 'a.db');
  mkdirSync(dirname(store));
  const errors: object[] = [];
  const logger = {
    warn: () => undefined,
    error: (facts: object, message: string) => void errors.push({ ...facts, message }),
  };
  const sleeper = defineImage({ name: 'sleeper', run: async (ctx) => ctx.sleep(600_000) });
  const kernel = await createKernel({ store, logger, images: [sleeper], node: { pollMs: 10 }, ...options });
  const pid = await kernel.processes.spawn({ name: 'before' });
  await kernel.processes.spawn({ image: 'sleeper' });
  const reports = () => errors.filter((error) => JSON.stringify(error).includes('removed or replaced'));
  return { kernel, store, pid, reports };
}

describe('a store file', () => {
  it.each<[string, (store: string) => void]>([
    ['removed', (store) => rmSync(store)],
    ['removed with all that lies beside it', (store) => rmSync(dirname(store), { recursive: true })],
    ['renamed', (store) => renameSync(store, `${store}.old`)],
    ['moved with its folder', (store) => renameSync(dirname(store), `${dirname(store)}.old`)],
    [
      'replaced by a copy of itself',
      (store) => {
        copyFileSync(store, `${store}.copy`);
        renameSync(`${store}.copy`, store);
      },
    ],
    [
      'replaced by another file',
      (store) => {
        rmSync(store);
        writeFileSync(store, 'other');
      },
    ],
    [
      'replaced by a folder',
      (store) => {
        rmSync(store);
        mkdirSync(store);
      },
    ],
  ])('that is %s is STORE_IO for every call that follows, and told once', async (_, damage) => {
    const { kernel, store, pid, reports } = await running();
    expect(await kernel.processes.get(pid)).toMatchObject({ name: 'before' });
    damage(store);
    await eventually(async () => expect(reports()).toHaveLength(1));
    const calls = [
      () => kernel.processes.spawn({}),
      () => kernel.processes.get(pid),
      () => kernel.processes.list(),
      () => kernel.as(pid).spawnChild({}),
      () => kernel.audit.verify(),
      () => kernel.memory.query(pid, {}),
    ];
    for (const call of calls) expect(await refusal(call())).toMatchObject(lost);
    await kernel.shutdown().catch((error) => expect(error).toMatchObject(lost));
    expect(await refusal(kernel.processes.spawn({}))).toMatchObject({
      code: expect.stringMatching(/STORE_IO|KERNEL_CLOSED/),
    });
    expect(reports()).toHaveLength(1);
  });

  it('that is replaced is not touched by the kernel that had it open', async () => {
    const { kernel, store, reports } = await running();
    const other = await newStore();
    const second = await createKernel({ logger: 'silent', store: other });
    const pid = await second.processes.spawn({ name: 'other' });
    await second.shutdown();
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${store}${suffix}`, { force: true });
    copyFileSync(other, store);
    const third = await createKernel({ logger: 'silent', store, state: tempFolder() });
    await eventually(async () => expect(reports()).toHaveLength(1));
    const later = await third.processes.spawn({ name: 'later' });
    await kernel.shutdown().catch(() => undefined);
    await third.shutdown();
    const fourth = await createKernel({ logger: 'silent', store, readOnly: true });
    expect(await fourth.processes.get(pid)).toMatchObject({ name: 'other' });
    expect(await fourth.processes.get(later)).toMatchObject({ name: 'later' });
    expect(await fourth.audit.verify()).toMatchObject({ ok: true });
    await fourth.shutdown();
  });

  it('that stays where it is, is not reported', async () => {
    const { kernel, store, pid, reports } = await running();
    const second = await createKernel({ logger: 'silent', store, node: { executor: false } });
    await second.processes.exit(pid, { result: 1 });
    await second.shutdown();
    await eventually(async () => expect(await kernel.processes.result(pid)).toMatchObject({ value: 1 }));
    await kernel.shutdown();
    expect(reports()).toEqual([]);
  });
});
