import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { defineImage, type Kernel } from '../../src/index.js';
import { compilePrograms } from '../support/crash/compile-programs.js';
import { Program } from '../support/crash/program.js';
import { newStore, openKernel } from '../support/kernel.js';
import { isSweep } from '../support/seeded.js';
import { rawSql } from '../support/storage/raw-sql.js';
import { findInconsistencies } from '../support/store-consistency.js';
import { untilStored } from '../support/until-stored.js';

let programs = '';
beforeAll(async () => {
  programs = await compilePrograms();
});

const timeout = isSweep ? 3_600_000 : 600_000;
const job = defineImage({ name: 'job', run: async () => null });

async function startNodes(store: string, count: number): Promise<Program[]> {
  const nodes = Array.from({ length: count }, (_, n) => new Program(join(programs, 'job-node.js'), store, `node ${n}`));
  for (const node of nodes) onTestFinished(() => node.kill());
  for (const node of nodes) await node.waitForLine((line) => line.startsWith('open'));
  return nodes;
}

/** What every node's stream has to bring: all events in the order of their numbers. */
async function digestOfLog(kernel: Kernel): Promise<{ seq: number; digest: string }> {
  const hash = createHash('sha256');
  let seq = 0;
  for (let after: string | undefined = '0'; after !== undefined; ) {
    const { items, next }: Awaited<ReturnType<Kernel['events']['list']>> = await kernel.events.list({
      after,
      limit: 10_000,
    });
    for (const { seq: number, type, pid, node } of items) {
      expect(number).toBe(++seq);
      hash.update(`${number} ${type} ${pid} ${node}\n`);
    }
    after = next;
  }
  return { seq, digest: hash.digest('hex') };
}

describe('node programs on one server', () => {
  const [nodes, jobs] = isSweep ? [8, 10_000] : [4, 500];

  it(`${nodes} of them run each of ${jobs} jobs once, and their streams bring the same events`, {
    timeout,
  }, async () => {
    const store = await newStore();
    const kernel = await openKernel({ store, images: [job], node: { executor: false } });
    const all = await startNodes(store, nodes);
    // One part of the jobs by each node, and one by a kernel that runs none.
    const share = Math.floor(jobs / (nodes + 1));
    const began = performance.now();
    for (const node of all) node.send(`spawn ${share}`);
    for (let left = jobs - nodes * share; left > 0; left -= 50) {
      await Promise.all(
        Array.from({ length: Math.min(left, 50) }, () => untilStored(() => kernel.processes.spawn({ image: 'job' }))),
      );
    }
    for (const node of all) await node.waitForLine((line) => line === 'done spawn');
    const ended = () =>
      rawSql<{ status: string; n: number }>(store, 'SELECT status, count(*) AS n FROM processes GROUP BY status');
    await vi.waitFor(async () => expect(await ended()).toEqual([{ status: 'exited', n: jobs }]), {
      timeout,
      interval: 100,
    });
    console.info(`${jobs} jobs on ${nodes} nodes took ${Math.round(performance.now() - began)} ms`);

    const ran = all.map(({ lines }) => lines.filter((line) => line.startsWith('ran ')));
    // A body whose call the server could not answer for long is run again, and says so.
    const again = await rawSql<{ data: string }>(store, "SELECT data FROM events WHERE type = 'process.released'");
    expect(again.filter(({ data }) => JSON.parse(data).reason !== 'store')).toEqual([]);
    expect(new Set(ran.flat()).size).toBe(jobs);
    expect(ran.flat().length).toBeLessThanOrEqual(jobs + again.length);
    // Each node has run some: work that others spawn is taken by whoever has room.
    expect(ran.map(({ length }) => length).filter((length) => length === 0)).toEqual([]);
    expect(await rawSql(store, "SELECT count(*) AS n FROM events WHERE type = 'process.started'")).toEqual([
      { n: jobs + again.length },
    ]);

    const { seq, digest } = await digestOfLog(kernel);
    for (const node of all) node.send(`digest ${seq}`);
    for (const node of all) await node.waitForLine((line) => line === 'done digest');
    const digests = all.map(({ lines }) => lines.find((line) => line.startsWith('digest ')));
    expect(new Set(digests)).toEqual(new Set([`digest ${digest} 0`]));
    expect(await findInconsistencies(kernel)).toEqual([]);
  });
});
