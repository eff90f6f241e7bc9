import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { AuditWriter } from '../../src/audit/writing/audit-writer.js';
import { defineImage, type Kernel, type Pid, Store } from '../../src/index.js';
import { longestTurnMs } from '../support/event-loop-monitor.js';
import { openKernel } from '../support/kernel.js';
import { isSweep } from '../support/seeded.js';

const turnMsMax = 100;
const timeout = 600_000;

async function openLarge(): Promise<Kernel> {
  return openKernel({ durability: 'normal', node: { executor: false } });
}

async function makeObjects(kernel: Kernel, pid: Pid, count: number): Promise<void> {
  for (let made = 0; made < count; made += 1_000) {
    const payloads = Array.from({ length: Math.min(1_000, count - made) }, (_, index) => ({ n: made + index }));
    await Promise.all(
      payloads.map((payload) => kernel.memory.create(pid, { type: 'observation', payload, immutable: false })),
    );
  }
}

/** A root with ten children, each with a tenth of the others below it. */
async function makeTree(kernel: Kernel, size: number): Promise<Pid> {
  const root = await kernel.processes.spawn({});
  const parents = await Promise.all(Array.from({ length: 10 }, () => kernel.processes.spawnChild(root, {})));
  for (const parent of parents) {
    await Promise.all(Array.from({ length: size / 10 }, () => kernel.processes.spawnChild(parent, {})));
  }
  return root;
}

async function expectShortTurns(calls: Record<string, () => Promise<unknown>>): Promise<void> {
  const long: Record<string, number> = {};
  for (const [name, call] of Object.entries(calls)) {
    const ms = Math.round(await longestTurnMs(call));
    if (ms > turnMsMax) long[name] = ms;
  }
  expect(long).toEqual({});
}

const lineText = 'what a body tells, '.repeat(200);
const usage = { inputTokens: 1, cachedInputTokens: 0, outputTokens: 1, totalTokens: 2 };

/** Says 1,000 turns of 100 parts, and logs 1,000 lines. */
const talking = defineImage({
  name: 'talking',
  run: async (ctx) => {
    for (let turn = 0; turn < 1_000; turn++) {
      await ctx.turns.commit([
        { type: 'turn-start' },
        ...Array.from({ length: 100 }, (_, n) => ({ type: 'text', text: `part ${n}` }) as const),
        { type: 'turn-end', usage, finishReason: 'stop' },
      ]);
      await ctx.log(lineText);
    }
    return null;
  },
});

async function askTenTimes(kernel: Kernel): Promise<void> {
  const face = kernel.as(await kernel.processes.spawn({}));
  const given = new AbortController();
  const asked = Array.from({ length: 10 }, (_, n) => face.ask(lineText, { id: `q${n}`, signal: given.signal }));
  const settled = Promise.allSettled(asked);
  while ((await kernel.questions.list({ pid: face.pid, limit: 10 })).length < 10) await setImmediate();
  given.abort();
  await settled;
}

async function readStream(kernel: Kernel, pid: Pid): Promise<void> {
  for await (const _part of kernel.agents.stream(pid)) {
    // Only reads.
  }
}

// In the sweep only: npm test asserts no times.
describe.skipIf(!isSweep)('a call takes no turn of the event loop of more than 100 ms', { timeout }, () => {
  it('with 100,000 objects in a view', async () => {
    const kernel = await openLarge();
    const pid = await kernel.processes.spawn({});
    // The tokenizer is loaded with the first text of a program, however small.
    await kernel.memory.materialize(pid, { tokensMax: 10 });
    await makeObjects(kernel, pid, 100_000);
    await expectShortTurns({
      materialize: () => kernel.memory.materialize(pid, { tokensMax: 10_000 }),
      'materialize a query': () => kernel.memory.materialize(pid, { tokensMax: 10_000, query: '99' }),
      query: () => kernel.memory.query(pid, { text: 'nothing has this' }),
      view: () => kernel.memory.view(pid),
      list: () => kernel.memory.list({ limit: 10_000 }),
      events: () => kernel.events.list({ limit: 10_000 }),
      audit: () => kernel.audit.list({ limit: 10_000 }),
    });
  });

  it('with a tree of 10,000 processes', async () => {
    const kernel = await openLarge();
    const root = await makeTree(kernel, 10_000);
    await expectShortTurns({
      tree: () => kernel.processes.tree(root),
      list: () => kernel.processes.list({ limit: 10_000 }),
      children: () => kernel.processes.children(root),
      pause: () => kernel.processes.pause(root),
      resume: () => kernel.processes.resume(root),
      cancel: () => kernel.processes.cancel(root),
      lineage: () => kernel.audit.lineage(root),
      prune: () => kernel.processes.prune({ endedBefore: Number.MAX_SAFE_INTEGER }),
    });
  });

  it('with the end of a parent of 10,000', async () => {
    const kernel = await openLarge();
    const root = await makeTree(kernel, 10_000);
    await expectShortTurns({ exit: () => kernel.processes.exit(root), sweep: () => kernel.memory.sweep() });
  });

  it('with a merge of 10,000 versions', async () => {
    const kernel = await openLarge();
    const root = await kernel.processes.spawn({});
    await makeObjects(kernel, root, 10_000);
    const fork = await kernel.processes.fork(root, { mode: 'copy' });
    const { roots } = await kernel.memory.view(fork);
    for (let from = 0; from < roots.length; from += 1_000) {
      // The goal is among them, and immutable.
      const page = roots.slice(from, from + 1_000);
      await Promise.allSettled(page.map((handle, index) => kernel.memory.update(fork, handle, { changed: index })));
    }
    await kernel.processes.exit(fork);
    await expectShortTurns({ merge: () => kernel.memory.merge(root, fork) });
  });

  it('with the revocation of 10,000 capabilities', async () => {
    const kernel = await openLarge();
    const root = await kernel.processes.spawn({});
    const held = await kernel.capabilities.grant(root, {
      resource: 'tool:**',
      rights: ['call', 'grant'],
      grantable: ['call'],
    });
    const delegate = [{ resource: 'tool:search', rights: ['call'] as const }];
    for (let made = 0; made < 10_000; made += 1_000) {
      await Promise.all(
        Array.from({ length: 1_000 }, () => kernel.processes.spawnChild(root, { delegate: delegate as never })),
      );
    }
    await expectShortTurns({ revoke: () => kernel.capabilities.revoke(held.id) });
  });

  it('with 10,000 questions and messages of a person, and lines of a log', async () => {
    const kernel = await openKernel({ durability: 'normal', images: [talking] });
    const pid = await kernel.processes.spawn({ image: 'talking' });
    await kernel.processes.result(pid);
    const asked = Array.from({ length: 1_000 }, () => askTenTimes(kernel));
    await Promise.all(asked);
    await expectShortTurns({
      logs: () => kernel.processes.logs(pid, { limit: 1_000 }),
      journal: () => kernel.processes.journal(pid, { values: true }),
      stream: () => readStream(kernel, pid),
      questions: () => kernel.questions.list({ status: 'any', limit: 10_000 }),
      'pending questions': () => kernel.questions.list(),
    });
  });

  it('with a log of 1,000,000 records', async () => {
    const kernel = await openLarge();
    const writer = kernel.container.get(AuditWriter);
    for (let written = 0; written < 1_000_000; written += 5_000) {
      await kernel.container.get(Store).write(async (tx) => {
        for (let index = 0; index < 5_000; index++) {
          writer.append(tx, { actor: 'host', via: 'host:test', at: 1, action: 'node.start', outcome: 'ok' });
        }
      });
    }
    await expectShortTurns({ verify: () => kernel.audit.verify(), checkpoint: () => kernel.audit.checkpoint() });
  });
});
