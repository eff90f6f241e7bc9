import { join } from 'node:path';
import { expect } from 'vitest';
import { z } from 'zod';
import {
  createKernel,
  defineImage,
  externalImage,
  externalTool,
  type JsonValue,
  type Kernel,
  type KernelOptions,
  type Pid,
  type Syscalls,
} from '../../src/index.js';
import { usage } from './agent-parts.js';
import { eventually } from './eventually.js';
import { tempFolder } from './kernel.js';
import { openRaw } from './storage/raw-connection.js';
import { rawSql } from './storage/raw-sql.js';

/** An SQLite file with rows in every table, as a program leaves it that was killed some time ago. */
export interface FullStore {
  readonly store: string;
  readonly waiting: Pid;
  readonly interrupted: Pid;
  readonly unclaimed: Pid;
}

const never = () => new Promise<never>(() => undefined);

/** How often the step of `interrupted` has begun in this program. */
let begun = 0;

const images = [
  defineImage({
    name: 'waits',
    run: async (ctx): Promise<JsonValue> => {
      const first = await ctx.step<number>('first', () => 1);
      const { body } = await ctx.receive();
      return { first, body: body as string };
    },
  }),
  defineImage({
    name: 'interrupted',
    run: async (ctx) => {
      const kept = await ctx.step<string>('kept', () => 'kept');
      const again = await ctx.step<string>('hangs', () => (++begun === 1 ? never() : 'again'));
      return [kept, again];
    },
  }),
  defineImage({ name: 'answers', run: async () => 'done' as const }),
  defineImage({
    name: 'fails',
    run: async (ctx) => {
      ctx.log('about to fail', { reason: 'no tea' });
      throw new Error('no tea');
    },
  }),
  defineImage({ name: 'once', recovery: 'fail', run: never }),
  defineImage({ name: 'asks', run: (ctx) => ctx.ask('Which tea?', { choices: ['green', 'black'] }) }),
  defineImage({ name: 'chat', conversation: true, run: converse }),
  defineImage({
    name: 'parent',
    run: async (ctx) => {
      const child = await ctx.spawnChild({ image: 'answers' });
      await ctx.wait(child);
      await ctx.sleep(1_000_000_000);
    },
  }),
  externalImage({ name: 'outside', acknowledge: true }),
];

const edit = externalTool({ name: 'edit', description: 'Applies an edit.', effect: 'once', input: z.object({}) });

/** What kernels on the store need to run its processes. */
export const fullStoreOptions: KernelOptions = {
  images,
  tools: [edit],
  logger: 'silent',
  durability: 'normal',
  node: { leaseMs: 1_000, pollMs: 20 },
};

async function converse(ctx: Syscalls): Promise<never> {
  for (;;) {
    const { body } = await ctx.receive();
    await ctx.turns.commit([{ type: 'turn-start' }, { type: 'text', text: String(body) }, { type: 'turn-end', usage }]);
    await ctx.turns.answer({ text: String(body), usage });
  }
}

export async function makeFullStore(): Promise<FullStore> {
  begun = 0;
  const folder = tempFolder();
  const store = join(folder, 'full.db');
  const options = { ...fullStoreOptions, store, workspace: tempFolder() };
  const before = await createKernel(options);
  await pruneNewest(before, store);
  const once = await before.processes.spawn({ image: 'once' });
  await untilStatus(before, once, 'running');
  await before.shutdown({ graceMs: 0 });
  const kernel = await createKernel(options);
  try {
    const waiting = await kernel.processes.spawn({ image: 'waits', name: 'waiting', labels: { team: 'a' } });
    const interrupted = await kernel.processes.spawn({ image: 'interrupted', owner: { session: 's1' } });
    const unclaimed = await kernel.processes.spawn({ image: 'answers', queue: 'nobody' });
    await fillProcesses(kernel);
    await fillAuthority(kernel);
    await fillMemory(kernel);
    await fillAgents(kernel);
    await untilStatus(kernel, waiting, 'waiting');
    await eventually(() => expect(begun).toBe(1));
    await kernel.audit.checkpoint();
    const copy = join(folder, 'copy.db');
    const raw = await openRaw(store);
    await raw.run([['VACUUM INTO ?', copy]]);
    await raw.close();
    // The lease of the kernel that was killed is over.
    await rawSql(copy, 'UPDATE nodes SET expires_at = 1 RETURNING id');
    return { store: copy, waiting, interrupted, unclaimed };
  } finally {
    await kernel.shutdown({ graceMs: 0 });
  }
}

async function fillProcesses(kernel: Kernel): Promise<void> {
  const { processes } = kernel;
  const outside = { image: 'outside' } as const;
  const lead = await processes.spawn({ ...outside, name: 'lead', id: 'lead', budget: { tokens: 1_000, children: 50 } });
  const [paused, stopping, killed, talking] = await Promise.all(
    ['paused', 'stopping', 'killed', 'talking'].map((name) =>
      processes.spawnChild(lead, { ...outside, name, id: name }),
    ),
  );
  await processes.pause(paused ?? '', 'lunch');
  await processes.progress(stopping ?? '', { done: 1, total: 2 });
  await processes.cancel(stopping ?? '', 'enough', { graceMs: 1_000_000_000 });
  await processes.kill(killed ?? '');
  await processes.send(talking ?? '', { hello: 'wörld \u0001' });
  await processes.signal(talking ?? '', 'user.tick', { payload: { n: 1 }, id: 'tick-1' });
  await processes.charge(lead, { tokens: 7 });
  await processes.reserve(lead, { tokens: 5 });
  await processes.result(await processes.spawn({ image: 'fails' }));
  await processes.result(await processes.spawn({ image: 'answers', env: { MODE: 'fast' } }));
  await untilStatus(kernel, await processes.spawn({ image: 'parent' }), 'waiting');
  await untilStatus(kernel, await processes.spawn({ image: 'asks' }), 'waiting');
  const runner = await processes.spawn({ ...outside, capabilities: [{ resource: 'command:**', rights: ['call'] }] });
  expect((await kernel.as(runner).run({ argv: ['echo', 'hello'] })).stdout).toBe('hello\n');
  const editor = await processes.spawn({ ...outside, capabilities: [{ resource: 'tool:**', rights: ['call'] }] });
  await kernel.as(editor).tools.open(edit, {});
  // More records than a tile of the log has.
  await Promise.all(Array.from({ length: 300 }, () => processes.charge(lead, { toolCalls: 1 })));
}

async function fillAuthority(kernel: Kernel): Promise<void> {
  const { capabilities, processes, approvals } = kernel;
  const [owner, stranger] = [await processes.spawn(), await processes.spawn()];
  const child = await processes.spawnChild(owner);
  const held = await capabilities.grant(owner, { resource: 'tool:search', rights: ['call'], delegable: true, uses: 9 });
  await capabilities.delegate(owner, child, { from: held.id, resource: 'tool:search', rights: ['call'] });
  const taken = await capabilities.grant(stranger, { resource: 'tool:mail', rights: ['call'] });
  await capabilities.revoke(taken.id, { reason: 'no longer' });
  await capabilities.deny('*', { resource: 'tool:rm', rights: ['call'] });
  for (const decision of ['once', 'deny'] as const) {
    void kernel
      .as(child)
      .capabilities.request({ resource: `tool:${decision}`, rights: ['call'] })
      .catch(() => undefined);
    const [asked] = await pendingApproval(kernel, decision);
    await approvals.answer(asked?.id ?? '', { decision, by: 'ann' });
  }
  void kernel
    .as(child)
    .capabilities.request({ resource: 'tool:later', rights: ['call'] })
    .catch(() => undefined);
  await pendingApproval(kernel, 'later');
}

async function pendingApproval(kernel: Kernel, name: string) {
  const find = async () => (await kernel.approvals.list()).filter(({ resource }) => resource === `tool:${name}`);
  await eventually(async () => expect(await find()).toHaveLength(1));
  return find();
}

async function fillMemory(kernel: Kernel): Promise<void> {
  const { memory, processes, audit } = kernel;
  const author = await processes.spawn({ name: 'author' });
  const large = await memory.create(author, {
    type: 'artifact',
    name: 'report',
    immutable: false,
    payload: { text: 'x'.repeat(5_000), emoji: '🫖', escape: '\u0000' },
  });
  await memory.update(author, large, { text: 'y'.repeat(4_000) });
  const source = await memory.create(author, { type: 'artifact', payload: [1, 2.5, null] });
  await memory.link(author, source, large, 'supports');
  const fork = await processes.fork(author, { mode: 'copy' });
  await memory.update(fork, large, { text: 'of the fork' });
  const merged = await processes.fork(author, { mode: 'copy' });
  await memory.update(merged, source, [3]).catch(() => undefined);
  await memory.merge(author, merged).catch(() => undefined);
  await processes.send(fork, { secret: 'tea' });
  const { items } = await audit.list({ action: 'message.send', target: fork });
  await audit.erase(items[0]?.seq ?? 0, 'private');
}

async function fillAgents(kernel: Kernel): Promise<void> {
  const chat = await kernel.processes.spawn({ image: 'chat' });
  expect(await kernel.agents.say(chat, 'hello')).toMatchObject({ text: 'hello' });
}

/**
 * Spawns a process that gets the highest number, and prunes it with everything else that has ended: its number, which is the
 * answer, must not be given again.
 */
export async function pruneNewest(kernel: Kernel, store: string): Promise<number> {
  const pid = await kernel.processes.spawn({ name: 'newest' });
  const [row] = await rawSql<{ n: number }>(store, 'SELECT n FROM processes WHERE pid = ?', pid);
  await kernel.processes.exit(pid);
  const { exitedAt = 0 } = await kernel.processes.get(pid);
  expect(await kernel.processes.prune({ endedBefore: exitedAt + 1 })).toEqual({ pruned: 1 });
  return row?.n ?? 0;
}

async function untilStatus(kernel: Kernel, pid: Pid, status: string): Promise<void> {
  await eventually(async () => expect((await kernel.processes.get(pid)).status).toBe(status));
}
