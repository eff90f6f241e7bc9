import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { defineImage, type Kernel, type KernelEvent, type Pid } from '../../src/index.js';
import { compilePrograms } from '../support/crash/compile-programs.js';
import { Program } from '../support/crash/program.js';
import { newStore, openKernel, tempFolder } from '../support/kernel.js';
import { nodeEvents } from '../support/node-rows.js';
import { startProxy } from '../support/pg-proxy.js';
import { rawSql } from '../support/storage/raw-sql.js';
import { findInconsistencies } from '../support/store-consistency.js';
import { untilStored } from '../support/until-stored.js';

let programs = '';
beforeAll(async () => {
  programs = await compilePrograms();
});

const images = ['slow', 'busy', 'own'].map((name) => defineImage({ name, run: async () => null }));

interface StartedNode {
  readonly program: Program;
  readonly id: string;
}

async function startNode(file: string, ...args: string[]): Promise<StartedNode> {
  const program = new Program(join(programs, file), ...args);
  onTestFinished(() => program.kill());
  const line = await program.waitForLine((text) => text.startsWith('open '));
  return { program, id: line.slice('open '.length) };
}

function openObserver(store: string): Promise<Kernel> {
  return openKernel({ store, images, node: { executor: false, pollMs: 20 } });
}

async function eventsAfter(kernel: Kernel, after: number): Promise<KernelEvent[]> {
  const events: KernelEvent[] = [];
  for (let next: string | undefined = String(after); next !== undefined; ) {
    const page: Awaited<ReturnType<Kernel['events']['list']>> = await kernel.events.list({
      after: next,
      limit: 10_000,
    });
    events.push(...page.items);
    next = page.next;
  }
  return events;
}

/** Tables that a node writes without anything to say about processes: who it is, and what it has refused. */
const ofNodes = /^(head|writers|nodes|events|audit_.*)$/;

/** All rows of all tables of processes, as text. */
async function rowsOfProcesses(store: string): Promise<Map<string, string[]>> {
  const tables = await rawSql<{ name: string }>(
    store,
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'procura' ORDER BY 1",
  );
  const rows = new Map<string, string[]>();
  for (const { name } of tables.filter((table) => !ofNodes.test(table.name))) {
    const found = await rawSql<{ row: string }>(store, `SELECT t::text AS row FROM "${name}" t ORDER BY 1`);
    rows.set(
      name,
      found.map(({ row }) => row),
    );
  }
  return rows;
}

describe('a node that is killed', () => {
  it('has its processes finished by the others, from where they were', async () => {
    const store = await newStore();
    const kernel = await openObserver(store);
    const nodes = await Promise.all(
      ['first', 'second', 'third'].map((name) => startNode('slow-node.js', store, name, '1000')),
    );
    const [killed, ...others] = nodes as [StartedNode, StartedNode, StartedNode];
    const args = { steps: 4, ms: 50 };
    const pids = await Promise.all(
      Array.from({ length: 40 }, () => untilStored(() => kernel.processes.spawn({ image: 'slow', args }))),
    );
    await killed.program.waitForLine((line) => line.startsWith('step 3'));
    await killed.program.kill();
    const began = performance.now();
    const results = await Promise.all(pids.map((pid) => kernel.processes.result(pid)));
    console.info(`the last process ended ${Math.round(performance.now() - began)} ms after the kill`);
    expect(results.filter(({ status }) => status !== 'exited')).toEqual([]);
    // Every step was completed once, and those of the others began once.
    const steps = (await eventsAfter(kernel, 0)).filter(({ type }) => type === 'step.completed');
    const nameOf = ({ pid, data }: KernelEvent) => `${pid} ${(data as { name: string }).name}`;
    expect(new Set(steps.map(nameOf)).size).toBe(steps.length);
    expect(steps).toHaveLength(pids.length * args.steps);
    const lost = new Set(killed.program.lines.map((line) => line.split(' ').at(-1)));
    const begun = others.flatMap(({ program }) => program.lines.filter((line) => line.startsWith('step')));
    const theirs = begun.filter((line) => !lost.has(line.split(' ').at(-1)));
    expect(new Set(theirs).size).toBe(theirs.length);
    const [dead] = (await nodeEvents(kernel)).filter(({ type }) => type === 'node.lapsed');
    expect(dead).toMatchObject({ data: { node: killed.id, reason: 'dead' } });
    expect(await findInconsistencies(kernel)).toEqual([]);
  });
});

describe('a node that stands still past its lease and goes on', () => {
  it('changes no row of the processes that others have finished meanwhile', async () => {
    const store = await newStore();
    const kernel = await openObserver(store);
    const gate = join(tempFolder(), 'gate');
    const stale = await startNode('busy-node.js', store, 'stale', '500', gate);
    const pids: Pid[] = [];
    for (let n = 0; n < 6; n++) pids.push(await kernel.processes.spawn({ image: 'busy' }));
    for (const pid of pids) await stale.program.waitForLine((line) => line === `round 1 ${pid}`);
    // In the middle of whatever it is doing: the server ends a transaction that is open.
    stale.program.signal('SIGSTOP');
    writeFileSync(`${gate}-other`, '');
    await startNode('busy-node.js', store, 'other', '500', gate);
    const results = await Promise.all(pids.map((pid) => kernel.processes.result(pid)));
    expect(results.map(({ value }) => value)).toEqual(pids.map(() => 'other'));

    const before = await rowsOfProcesses(store);
    const newest = (await eventsAfter(kernel, 0)).at(-1)?.seq ?? 0;
    const [records] = await rawSql<{ n: number }>(store, 'SELECT max(seq) AS n FROM audit_records');
    stale.program.signal('SIGCONT');
    for (const pid of pids) await stale.program.waitForLine((line) => line === `LEASE_LOST ${pid}`);
    await expect
      .poll(() => rawSql(store, 'SELECT epoch, ended_at FROM nodes WHERE id = ?', stale.id))
      .toEqual([{ epoch: 2, ended_at: null }]);
    expect(await rowsOfProcesses(store)).toEqual(before);
    const told = (await eventsAfter(kernel, newest)).filter(({ pid }) => pid !== undefined);
    expect(told).toEqual([]);
    const bodies = await rawSql<{ body: string }>(
      store,
      'SELECT body FROM audit_records WHERE seq > ?',
      records?.n ?? 0,
    );
    const done = bodies.map(({ body }) => JSON.parse(body)).filter(({ outcome }) => outcome === 'ok');
    expect(done.filter(({ target }) => pids.includes(target))).toEqual([]);

    // It has a new epoch, and works again.
    const next = await kernel.processes.spawn({ image: 'own', queue: 'stale' });
    expect(await kernel.processes.result(next)).toMatchObject({ value: 'stale' });
    expect(await findInconsistencies(kernel)).toEqual([]);
  });
});

describe('a server that is away for longer than two lease periods', () => {
  it('makes nobody take over anybody: all go on where they were', async () => {
    const leaseMs = 3_000;
    const store = await newStore();
    const proxy = await startProxy(store);
    const kernel = await openObserver(store);
    const gate = join(tempFolder(), 'gate');
    const names = ['first', 'second', 'third'];
    const nodes = await Promise.all(names.map((name) => startNode('slow-node.js', proxy.store, name, String(leaseMs))));
    const spec = JSON.stringify({ image: 'slow', args: { steps: 2, ms: 1, gate } });
    for (const { program } of nodes) program.send(`spawn ${spec}`);
    const pids = await Promise.all(
      nodes.map(async ({ program }) => (await program.waitForLine((line) => line.startsWith('step 1'))).slice(7)),
    );
    const renewals = async () => {
      const rows = await rawSql<{ renewals: number }>(store, 'SELECT renewals FROM nodes ORDER BY id');
      return Math.min(...rows.map((row) => row.renewals));
    };
    proxy.stop();
    await sleep(2.5 * leaseMs);
    proxy.resume();
    // As long as it takes for a node to be given up.
    const after = await renewals();
    await expect.poll(renewals, { timeout: 60_000 }).toBeGreaterThan(after + 7);
    writeFileSync(gate, '');
    const results = await Promise.all(pids.map((pid) => kernel.processes.result(pid)));
    expect(results.map(({ value }) => value)).toEqual(names);
    expect(await nodeEvents(kernel)).toEqual([]);
    const began = nodes.flatMap(({ program }) => program.lines.filter((line) => line.startsWith('began')));
    expect(began.sort()).toEqual(pids.map((pid) => `began ${pid}`).sort());
    expect(await findInconsistencies(kernel)).toEqual([]);
  });
});
