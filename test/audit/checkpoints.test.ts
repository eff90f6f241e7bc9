import { appendFileSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { AuditRepository } from '../../src/audit/audit-repository.js';
import { isSignedBy, keyIdOf } from '../../src/audit/checkpoint/checkpoint.js';
import { storedCheckpoints } from '../../src/audit/checkpoint/checkpoint-feed.js';
import { noCheckpointSink } from '../../src/audit/checkpoint/checkpoint-sink.js';
import { checkpointMs, checkpointRecords } from '../../src/audit/checkpoint/checkpoints.js';
import { Ed25519Signer } from '../../src/audit/checkpoint/ed25519-signer.js';
import { emptyRoot } from '../../src/audit/merkle/merkle-tree.js';
import { exportLines } from '../../src/audit/query/audit-export.js';
import { LogWalk } from '../../src/audit/verify/log-walk.js';
import { Store } from '../../src/base/store.js';
import { type AuditFixture, auditFilesOf, closedLog, entry, fill, openAudit } from '../support/audit/audit-fixture.js';
import { eventually } from '../support/eventually.js';
import { newStore, openKernel } from '../support/kernel.js';
import { copyStore } from '../support/storage/copy-store.js';
import { isSqlite } from '../support/store-kind.js';

afterEach(() => void vi.useRealTimers());

describe('a checkpoint', () => {
  it('is signed, stored with its key, and appended to the file beside the database', async () => {
    const path = await newStore();
    const audit = await openAudit({ path });
    await fill(audit, 10);
    const checkpoint = await audit.log.checkpoint();
    const publicKey = audit.signer.publicKey();
    expect(checkpoint).toMatchObject({ size: 10, key: keyIdOf(publicKey) });
    expect(checkpoint).not.toHaveProperty('replaced');
    expect(isSignedBy(checkpoint, publicKey)).toBe(true);
    expect(await readCheckpoint(audit)).toEqual(checkpoint);
    expect(fileLines(path)).toEqual([{ ...checkpoint, publicKey }]);
  });

  it('is not genuine with any member changed', async () => {
    const audit = await openAudit();
    await fill(audit, 10);
    const checkpoint = await audit.log.checkpoint();
    const key = audit.signer.publicKey();
    const changes = [
      { size: 11 },
      { root: emptyRoot },
      { at: 1 },
      { log: 'l' },
      { replaced: true as const },
      { key: emptyRoot },
    ];
    for (const change of changes) expect(isSignedBy({ ...checkpoint, ...change }, key)).toBe(false);
    expect(isSignedBy(checkpoint, 'not a key')).toBe(false);
  });

  it('is signed once for the same size', async () => {
    const path = await newStore();
    const audit = await openAudit({ path });
    await fill(audit, 10);
    const [first, second] = await Promise.all([audit.log.checkpoint(), audit.log.checkpoint()]);
    expect(second).toEqual(first);
    expect(fileLines(path)).toHaveLength(1);
  });

  // A log that was being walked was called broken: the key of the checkpoint was not among those that were read before.
  it('that is the first one, and is made while the log is verified or exported, is no fault', async () => {
    const kernel = await openKernel();
    await kernel.processes.spawn({});
    const [store, repository] = [kernel.container.get(Store), kernel.container.get(AuditRepository)];
    const walk = await LogWalk.begin(store, repository, 1);
    const lines = exportLines(store, repository, {})[Symbol.asyncIterator]();
    const exported = [(await lines.next()).value as string];
    await kernel.audit.checkpoint();
    expect(await walk.run([storedCheckpoints(store, repository, 0)])).toMatchObject({ ok: true });
    for (let next = await lines.next(); next.done !== true; next = await lines.next()) exported.push(next.value);
    expect(exported.map((line) => JSON.parse(line).kind)).not.toContain('checkpoint');
  });

  it('can be made of an empty log', async () => {
    const audit = await openAudit({ path: await newStore() });
    expect(await audit.log.checkpoint()).toMatchObject({ size: 0, root: emptyRoot });
    await fill(audit, 3);
    expect(await audit.log.verify()).toMatchObject({ ok: true, size: 3 });
  });

  it('is refused when the signer does not sign with its own key', async () => {
    const audit = await openAudit();
    const wrongSigner = { publicKey: () => audit.signer.publicKey(), sign: () => Buffer.alloc(64) };
    const other = await openAudit({ path: await newStore(), signer: wrongSigner });
    await expect(other.log.checkpoint()).rejects.toMatchObject({ name: 'AuditError', code: 'SIGNER_FAILED' });
    expect(await readCheckpoint(other)).toBeUndefined();
  });

  it('stays when its copy outside the database cannot be written, and the failure is logged', async () => {
    const sink = {
      append: () => Promise.reject(new Error('disk full')),
      list: async function* () {
        yield* [];
      },
    };
    const audit = await openAudit({ path: await newStore(), sink });
    await fill(audit, 1);
    const checkpoint = await audit.log.checkpoint();
    expect(await readCheckpoint(audit)).toEqual(checkpoint);
    expect(audit.logged).toMatchObject([{ facts: { size: 1, reason: 'Error: disk full' } }]);
  });

  it('is refused by a kernel that only reads, and makes no key', async () => {
    const path = await closedLog(3, 0);
    const audit = await openAudit({ path, readOnly: true });
    await expect(audit.log.checkpoint()).rejects.toMatchObject({ code: 'STORE_READONLY' });
    expect(existsSync(auditFilesOf(path).key)).toBe(false);
  });
});

describe('checkpoints by themselves', () => {
  it(`come after ${checkpointRecords} records`, async () => {
    const audit = await openAudit();
    await audit.checkpoints.start();
    await append(audit, checkpointRecords - 1);
    await audit.store.read(async () => undefined);
    expect(await readCheckpoint(audit)).toBeUndefined();
    await append(audit, 1);
    await eventually(async () => expect(await readCheckpoint(audit)).toMatchObject({ size: checkpointRecords }));
    await audit.checkpoints.close();
  });

  it('come after a minute with new records, and not after one without', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const path = await newStore();
    const audit = await openAudit({ path });
    await audit.checkpoints.start();
    await fill(audit, 5);
    vi.advanceTimersByTime(checkpointMs);
    await eventually(() => expect(fileLines(path)).toHaveLength(1));
    vi.advanceTimersByTime(5 * checkpointMs);
    await audit.checkpoints.close();
    expect(fileLines(path)).toHaveLength(1);
  });

  it('come at shutdown when there are new records', async () => {
    const audit = await openAudit({ path: await newStore() });
    await audit.checkpoints.start();
    await audit.checkpoints.close();
    expect(await readCheckpoint(audit)).toBeUndefined();
    const again = await openAudit({ path: await newStore() });
    await again.checkpoints.start();
    await fill(again, 5);
    await again.checkpoints.close();
    expect(await readCheckpoint(again)).toMatchObject({ size: 5 });
  });

  it('that fail are reported and stop nothing', async () => {
    const signer = { publicKey: () => 'x', sign: () => Promise.reject(new Error('no token')) };
    const audit = await openAudit({ path: await newStore(), signer });
    await audit.checkpoints.start();
    await fill(audit, 5);
    await audit.checkpoints.close();
    expect(audit.logged).toMatchObject([{ facts: { reason: 'Error: no token' } }]);
  });
});

describe('checkpoints of several nodes on one store', () => {
  /** Nodes with a key of their own each, as on machines of their own, and intervals that are moved by hand. */
  async function openNodes(count: number): Promise<AuditFixture[]> {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const path = await newStore();
    const nodes: AuditFixture[] = [];
    for (let n = 0; n < count; n++) {
      const signer = Ed25519Signer.fromSeed(Buffer.alloc(32, n));
      const node = await openAudit({ path, seed: `node ${n}`, signer, sink: noCheckpointSink });
      await node.checkpoints.start();
      onTestFinished(() => node.checkpoints.close());
      nodes.push(node);
    }
    return nodes;
  }

  const keyOf = ({ signer }: AuditFixture) => keyIdOf(signer.publicKey());

  async function listCheckpoints({ store, repository }: AuditFixture): Promise<{ size: number; key: string }[]> {
    const all = await store.read((tx) => repository.checkpointsAfter(tx, { size: -1, key: '' }, 1_000));
    return all.map(({ size, key }) => ({ size, key }));
  }

  it('are signed with the keys of all; a key says once that others have signed before it', async () => {
    const [a, b] = (await openNodes(2)) as [AuditFixture, AuditFixture];
    const flags: unknown[] = [];
    for (const node of [a, b, a, b, b, a]) {
      await fill(node, 1);
      const { key, replaced } = await node.log.checkpoint();
      flags.push([key === keyOf(node), replaced]);
    }
    const [first, again] = [
      [true, undefined],
      [true, true],
    ];
    expect(flags).toEqual([first, again, first, first, first, first]);
    expect(await a.log.verify()).toMatchObject({ ok: true, size: 6 });
    expect(await b.log.verify()).toMatchObject({ ok: true, size: 6 });
    expect([a.logged.length, b.logged.length]).toEqual([0, 1]);
  });

  it('that two nodes sign first at the same time: one of them was not the first', async () => {
    const [a, b] = (await openNodes(2)) as [AuditFixture, AuditFixture];
    await fill(a, 1);
    const both = await Promise.all([a.log.checkpoint(), b.log.checkpoint()]);
    expect(both.map(({ replaced }) => replaced === true).sort()).toEqual([false, true]);
    expect(await a.log.verify()).toMatchObject({ ok: true });
  });

  it('are signed by one of them, where the others find one that is younger than half the interval', async () => {
    const [a, b, c] = (await openNodes(3)) as [AuditFixture, AuditFixture, AuditFixture];
    for (const node of [a, b, c]) await fill(node, 1);
    await b.log.checkpoint();
    // All have records of their own that are not signed by them; each looks, and finds the one that is there.
    await fill(a, 1);
    const looks = [a, b, c].map(({ store }) => vi.spyOn(store, 'read'));
    vi.advanceTimersByTime(checkpointMs);
    await eventually(() => expect(looks.map(({ mock }) => mock.calls.length > 0)).toEqual([true, false, true]));
    await Promise.all([a, c].map(({ checkpoints }) => checkpoints.settle()));
    expect(await listCheckpoints(a)).toEqual([{ size: 3, key: keyOf(b) }]);
    // The next interval finds it too old.
    for (const node of [a, b, c]) node.clock.notBefore(node.clock.peek() + checkpointMs / 2);
    vi.advanceTimersByTime(checkpointMs);
    await eventually(async () => expect(await listCheckpoints(a)).toHaveLength(2));
    await Promise.all([a, b, c].map(({ checkpoints }) => checkpoints.settle()));
    expect(await listCheckpoints(a)).toMatchObject([{ size: 3 }, { size: 4 }]);
  });

  it(`come after ${checkpointRecords} records since the last one of anybody`, async () => {
    const [a, b] = (await openNodes(2)) as [AuditFixture, AuditFixture];
    await append(a, checkpointRecords - 10);
    await b.log.checkpoint();
    await append(a, 20);
    await a.checkpoints.settle();
    expect(await listCheckpoints(a)).toEqual([{ size: checkpointRecords - 10, key: keyOf(b) }]);
    await append(a, checkpointRecords);
    await eventually(async () => expect(await listCheckpoints(a)).toHaveLength(2));
  });

  it('are not signed again at shutdown', async () => {
    const [a, b] = (await openNodes(2)) as [AuditFixture, AuditFixture];
    await fill(a, 3);
    await b.log.checkpoint();
    await a.checkpoints.close();
    expect(await listCheckpoints(a)).toEqual([{ size: 3, key: keyOf(b) }]);
  });
});

describe('the key', () => {
  it('is made on first use into a file that only its owner may read, and found again', async () => {
    const path = await closedLog(3, 0);
    expect(existsSync(auditFilesOf(path).key)).toBe(false);
    const first = await openAudit({ path });
    const { key } = await first.log.checkpoint();
    expect(statSync(auditFilesOf(path).key).mode & 0o777).toBe(0o600);
    await fill(first, 1);
    const second = await openAudit({ path, seed: 'other' });
    expect(await second.log.checkpoint()).toMatchObject({ key, size: 4 });
  });

  it('comes from the seed when one is given', async () => {
    const keys = ['one', 'one', 'two'].map(async (seed) => {
      const audit = await openAudit({ path: await newStore(), seed });
      return audit.signer.publicKey();
    });
    const [first, second, third] = await Promise.all(keys);
    expect(first).toBe(second);
    expect(first).not.toBe(third);
  });

  it('is replaced in a copy without the private one, flagged, and the old checkpoints still verify', async () => {
    const path = await closedLog(10);
    const copy = await copyStore(path);
    const audit = await openAudit({ path: copy, seed: 'copy' });
    expect(await audit.log.verify()).toMatchObject({ ok: true });
    await fill(audit, 1);
    expect(await audit.log.checkpoint()).toMatchObject({ size: 11, replaced: true });
    expect(audit.logged).toMatchObject([
      { message: 'The audit log is signed with a key that has not signed it before.' },
    ]);
    await fill(audit, 1);
    expect(await audit.log.checkpoint()).not.toHaveProperty('replaced');
    expect(await audit.log.verify()).toMatchObject({ ok: true, size: 12 });
  });

  it('is refused when its file holds something else', async () => {
    const path = await closedLog(3, 0);
    writeFileSync(auditFilesOf(path).key, 'not a key');
    const audit = await openAudit({ path });
    await expect(audit.log.checkpoint()).rejects.toMatchObject({ name: 'AuditError', code: 'KEY_UNREADABLE' });
    expect(await audit.log.verify()).toMatchObject({ ok: true });
  });
});

describe('the checkpoint file', () => {
  it('drops a line that was cut off by a crash', async () => {
    const path = await closedLog(3);
    appendFileSync(auditFilesOf(path).checkpoints, '{"log":"l_');
    const audit = await openAudit({ path });
    expect(await audit.log.verify()).toMatchObject({ ok: true });
    await fill(audit, 1);
    await audit.log.checkpoint();
    expect(fileLines(path)).toMatchObject([{ size: 3 }, { size: 4 }]);
    expect(await audit.log.verify()).toMatchObject({ ok: true });
  });

  it('makes verify fail when one of its lines was changed', async () => {
    const path = await closedLog(3);
    const file = auditFilesOf(path).checkpoints;
    const audit = await openAudit({ path });
    for (const changed of [readFileSync(file, 'utf8').replace('"size":3', '"size":2'), 'garbage\n']) {
      writeFileSync(file, changed);
      expect(await audit.log.verify()).toMatchObject({ ok: false, firstBad: { kind: 'BAD_SIGNATURE' } });
    }
  });

  it.runIf(isSqlite)('of a deleted database does not make the verification of a new one fail', async () => {
    const path = await closedLog(10);
    rmSync(path);
    const audit = await openAudit({ path, seed: 'next' });
    await fill(audit, 3);
    expect(await audit.log.verify()).toMatchObject({ ok: true });
  });
});

function readCheckpoint(audit: AuditFixture) {
  return audit.store.read((tx) => audit.repository.lastCheckpoint(tx));
}

function fileLines(path: string): unknown[] {
  const text = existsSync(auditFilesOf(path).checkpoints) ? readFileSync(auditFilesOf(path).checkpoints, 'utf8') : '';
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

function append(audit: AuditFixture, count: number): Promise<void> {
  return audit.store.write(async (tx) => {
    for (let n = 0; n < count; n++) audit.writer.append(tx, entry(n));
  });
}
