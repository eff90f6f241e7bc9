import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { defineImage, type Kernel, type Pid } from '../../src/index.js';
import { compilePrograms } from '../support/crash/compile-programs.js';
import { Program } from '../support/crash/program.js';
import { eventually } from '../support/eventually.js';
import { openKernel, tempFolder } from '../support/kernel.js';
import { nodesIn } from '../support/node-rows.js';
import { runsInSweep } from '../support/seeded.js';
import { findInconsistencies } from '../support/store-consistency.js';
import { testProgram } from '../support/tools/mcp-servers.js';
import type { Deployment } from './programs/deployed-node.js';

let programs = '';
beforeAll(async () => {
  programs = await compilePrograms();
});

/** Few enough that nothing counts as a process that crashes its nodes. */
const kills = runsInSweep(4);
const capabilities = [{ resource: 'tool:**', rights: ['call' as const] }];

describe('a node with an MCP server that connects slowly', () => {
  it('begins nothing before, however often it is killed, and everything with the tool afterwards', {
    timeout: 120_000,
  }, async () => {
    const { kernel, store, folder, start } = await deploymentFixture('asks');
    const gate = join(folder, 'server-gate');
    const listing = join(folder, 'listing.json');
    const pages = [[{ name: 'greet', inputSchema: { type: 'object' } }]];
    writeFileSync(listing, JSON.stringify({ pages, waitFor: gate }));
    const servers = { late: testProgram('listing.mjs', listing) };
    // One image names the tool, and one just calls it.
    const images = { names: ['mcp/late/**'], asks: [] };
    const pids: Pid[] = [];
    const spawn = async (image: string) =>
      pids.push(await kernel.processes.spawn({ image, args: { tool: 'mcp/late/greet' }, capabilities }));
    for (let round = 0; round < kills; round++) {
      await spawn('names');
      await spawn('asks');
      const node = start({ name: `slow-${round}`, images, servers });
      await node.waitForLine((line) => line === 'opening');
      await sleep(Math.random() * 500);
      await node.kill();
      expect(node.lines.filter((line) => line.startsWith('began'))).toEqual([]);
    }
    for (const pid of pids) expect(await kernel.processes.get(pid)).toMatchObject({ status: 'runnable', attempt: 1 });
    const last = start({ name: 'last', images, servers });
    await eventually(async () =>
      expect((await nodesIn(store).all()).filter(({ ended_at }) => ended_at === null)).toHaveLength(1),
    );
    writeFileSync(gate, '');
    for (const pid of pids) {
      const value = { node: 'last', answer: { text: 'called greet' } };
      expect(await kernel.processes.result(pid)).toMatchObject({ status: 'exited', value });
    }
    await last.kill();
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('runs what does not need it when the time is over, and what needs it when it has come', async () => {
    const { kernel, folder, start } = await deploymentFixture('free');
    const gate = join(folder, 'server-gate');
    const listing = join(folder, 'listing.json');
    writeFileSync(
      listing,
      JSON.stringify({ pages: [[{ name: 'greet', inputSchema: { type: 'object' } }]], waitFor: gate }),
    );
    const needy = await kernel.processes.spawn({ image: 'names', args: { tool: 'mcp/late/greet' }, capabilities });
    const free = await kernel.processes.spawn({ image: 'free' });
    const servers = { late: testProgram('listing.mjs', listing) };
    start({ name: 'node', images: { names: ['mcp/late/**'], free: [] }, servers, mcpWaitMs: 100 });
    expect(await kernel.processes.result(free)).toMatchObject({ status: 'exited' });
    expect(await kernel.processes.get(needy)).toMatchObject({
      status: 'runnable',
      wait: { kind: 'tools', what: 'names@1', missing: ['mcp/late/**'] },
    });
    writeFileSync(gate, '');
    expect(await kernel.processes.result(needy)).toMatchObject({ value: { answer: { text: 'called greet' } } });
  });
});

describe('two programs with different tools and queues on one file', () => {
  it('run each process where its tools and its queue are, however often one of them is killed', {
    timeout: 120_000,
  }, async () => {
    const { kernel, start } = await deploymentFixture();
    const images = { hammers: ['hammer'], saws: ['saw'], plain: [] };
    const left: Deployment = { name: 'left', images, tools: ['hammer'] };
    const right: Deployment = { name: 'right', images, tools: ['saw'], queues: ['default', 'gpu'] };
    const nodes = [start(left), start(right)];
    const expected = new Map<Pid, string[]>();
    const spawn = async (image: string, queue: string, where: string[]) =>
      expected.set(await kernel.processes.spawn({ image, queue }), where);
    for (let round = 0; round <= kills; round++) {
      for (let n = 0; n < 5; n++) {
        await spawn('hammers', 'default', ['left']);
        await spawn('saws', 'default', ['right']);
        await spawn('saws', 'gpu', ['right']);
        await spawn('plain', 'gpu', ['right']);
        await spawn('plain', 'default', ['left', 'right']);
      }
      await sleep(Math.random() * 300);
      if (round === kills) break;
      const index = round % 2;
      await nodes[index]?.kill();
      nodes[index] = start(index === 0 ? left : right);
    }
    for (const [pid, where] of expected) {
      const { status, value } = await kernel.processes.result(pid);
      expect([status, (value as { node: string }).node]).toEqual([
        'exited',
        expect.toSatisfy((node) => where.includes(node)),
      ]);
    }
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('of which one is killed: what only it could run waits for it', async () => {
    const { kernel, start, folder } = await deploymentFixture();
    const gate = join(folder, 'gate');
    const images = { saws: ['saw'], plain: [] };
    const left: Deployment = { name: 'left', images };
    const right: Deployment = { name: 'right', images, tools: ['saw'], queues: ['gpu', 'default'] };
    start(left);
    const killed = start(right);
    const [saws, gpu, free] = await Promise.all([
      kernel.processes.spawn({ image: 'saws', args: { gate, tool: 'saw' }, capabilities }),
      kernel.processes.spawn({ image: 'plain', queue: 'gpu', args: { gate } }),
      kernel.processes.spawn({ image: 'plain', queue: 'default' }),
    ]);
    for (const pid of [saws, gpu]) await killed.waitForLine((line) => line === `began ${pid}`);
    expect((await kernel.processes.result(free)).status).toBe('exited');
    await killed.kill();
    await eventually(async () => {
      expect(await kernel.processes.get(saws)).toMatchObject({
        status: 'runnable',
        wait: { kind: 'tools', what: 'saws@1', missing: ['saw'] },
      });
      expect(await kernel.processes.get(gpu)).toMatchObject({
        status: 'runnable',
        wait: { kind: 'image', what: 'plain@1', missing: ['queue:gpu'] },
      });
    });
    const waiting = async (kind: 'tools' | 'image') => (await kernel.processes.list({ waiting: kind })).items;
    expect((await waiting('tools')).map(({ pid }) => pid)).toEqual([saws]);
    expect((await waiting('image')).map(({ pid }) => pid)).toEqual([gpu]);
    writeFileSync(gate, '');
    start(right);
    expect(await kernel.processes.result(saws)).toMatchObject({ value: { node: 'right', answer: 'saw' } });
    expect(await kernel.processes.result(gpu)).toMatchObject({ value: { node: 'right' } });
    expect(await waiting('tools')).toEqual([]);
    expect(await findInconsistencies(kernel)).toEqual([]);
  });
});

describe('a node whose clock stands still, an hour behind that of the other', () => {
  it('keeps its processes while it lives, and takes over those of the other when that is killed', {
    timeout: 60_000,
  }, async () => {
    const { kernel, store, start, folder } = await deploymentFixture();
    const gate = join(folder, 'gate');
    const leaseMs = 1_000;
    const still = start({
      name: 'still',
      images: { plain: [], mine: ['saw'] },
      tools: ['saw'],
      leaseMs,
      clock: 'still',
    });
    const mine = await kernel.processes.spawn({ image: 'mine', args: { gate } });
    await still.waitForLine((line) => line === `began ${mine}`);
    const clock = { aheadMs: 3_600_000 };
    const ahead = start({ name: 'ahead', images: { plain: [], mine: [] }, queues: ['ahead'], leaseMs, clock });
    const theirs = await kernel.processes.spawn({ image: 'plain', queue: 'ahead', args: { gate } });
    await ahead.waitForLine((line) => line === `began ${theirs}`);
    // Four lease periods of both, one renewal each third of one.
    await eventually(async () =>
      expect((await nodesIn(store).all()).map(({ renewals }) => renewals >= 12)).toEqual([true, true]),
    );
    expect((await kernel.events.list({ types: ['node.lapsed'] })).items).toEqual([]);
    expect(await kernel.processes.get(mine)).toMatchObject({ status: 'running', attempt: 1 });
    // What only it can run does not wait for a node, whatever its row says of the time.
    const next = await kernel.processes.spawn({ image: 'mine', queue: 'default', held: true });
    await kernel.processes.resume(next);
    expect(await kernel.processes.get(next)).not.toMatchObject({ wait: { kind: 'image' } });
    await ahead.kill();
    await eventually(async () => {
      const { items } = await kernel.events.list({ types: ['node.lapsed'] });
      expect(items.map(({ data }) => data)).toMatchObject([{ reason: 'dead' }]);
    });
    expect(await kernel.processes.get(theirs)).toMatchObject({
      status: 'runnable',
      wait: { missing: ['queue:ahead'] },
    });
    start({ name: 'again', images: { plain: [] }, queues: ['ahead'], leaseMs, clock });
    writeFileSync(gate, '');
    expect(await kernel.processes.result(mine)).toMatchObject({ value: { node: 'still' } });
    expect(await kernel.processes.result(next)).toMatchObject({ value: { node: 'still' } });
    expect(await kernel.processes.result(theirs)).toMatchObject({ value: { node: 'again' } });
    expect(await findInconsistencies(kernel)).toEqual([]);
  });
});

/** A file, a kernel that only looks at it and knows the images, and nodes. */
async function deploymentFixture(...more: string[]): Promise<{
  kernel: Kernel;
  store: string;
  folder: string;
  start(deployment: Deployment): Program;
}> {
  const folder = tempFolder();
  const store = join(folder, 'deployed.db');
  const names = new Set(['names', 'hammers', 'saws', 'plain', 'mine', ...more]);
  const images = [...names].map((name) => defineImage({ name, run: async () => null }));
  const kernel = await openKernel({ store, images, node: { executor: false, pollMs: 20 }, durability: 'normal' });
  return {
    kernel,
    store,
    folder,
    start: (deployment) => {
      const program = new Program(join(programs, 'deployed-node.js'), store, JSON.stringify(deployment));
      onTestFinished(() => program.kill());
      return program;
    },
  };
}
