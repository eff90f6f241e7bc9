import { afterEach, describe, expect, it, vi } from 'vitest';
import { type Kernel, type ObjectId } from '../../src/index.js';
import { eventually } from '../support/eventually.js';
import { openKernel, refusal } from '../support/kernel.js';
import { kernelFixture } from '../support/kernel-fixture.js';
import { readStore } from '../support/storage/store-contents.js';

afterEach(() => void vi.useRealTimers());

const readActions = ['memory.inspect', 'process.goal', 'process.transcript', 'audit.inspections'];

async function recordsOfReads(kernel: Kernel) {
  const { items } = await kernel.audit.list({ limit: 1_000 });
  return items.filter(({ action }) => readActions.includes(action));
}

/** A root and its child, both ended, with a goal, an object, a transcript and a result of the child. */
async function endedFamily() {
  const fixture = await kernelFixture({ operator: 'ops' });
  const { kernel } = fixture;
  const root = await kernel.processes.spawn({ goal: 'Lead.' });
  const child = await kernel.processes.spawnChild(root, {
    image: 'worker',
    goal: { text: 'Find the tide.', by: 'noon' },
  });
  const note = await kernel.memory.create(child, {
    type: 'evidence',
    payload: { tide: 9 },
    name: 'tide',
    tags: ['sea'],
  });
  const said = { messages: [{ role: 'user', text: 'Find the tide.' }] };
  const transcript = await kernel.memory.create(child, { type: 'message', name: 'transcript', payload: said });
  await kernel.processes.exit(child, { result: { tide: 9 } });
  await kernel.processes.exit(root);
  return { ...fixture, root, child, note, transcript, said };
}

describe('the host', () => {
  it('reads objects, goals and transcripts of ended processes, which processes cannot', async () => {
    const { kernel, child, note, transcript, said } = await endedFamily();
    expect((await refusal(kernel.memory.read(child, note))).code).toBe('NO_SUCH_OBJECT');
    const read = await kernel.memory.inspect(note);
    expect(read).toMatchObject({
      id: note.id,
      type: 'evidence',
      payload: { tide: 9 },
      version: 1,
      name: 'tide',
      namespace: `process/${child}`,
      tags: ['sea'],
      createdBy: child,
      sources: [],
    });
    expect(await kernel.memory.inspect(note.id)).toEqual(read);
    expect((await kernel.processes.goal(child)).payload).toEqual({ text: 'Find the tide.', by: 'noon' });
    expect(await kernel.processes.transcript(child)).toMatchObject({ id: transcript.id, payload: said });
    const { result = '' } = await kernel.processes.get(child);
    expect((await kernel.memory.inspect(result)).payload).toEqual({ tide: 9 });
  });

  it('is told of a process without a transcript, and of what does not exist', async () => {
    const { kernel, root } = await endedFamily();
    expect(await kernel.processes.transcript(root)).toBeUndefined();
    expect((await refusal(kernel.processes.goal('p_none'))).code).toBe('NO_SUCH_PROCESS');
    expect((await refusal(kernel.processes.transcript('p_none'))).code).toBe('NO_SUCH_PROCESS');
    expect((await refusal(kernel.memory.inspect('o_none'))).code).toBe('NO_SUCH_OBJECT');
    expect((await refusal(kernel.memory.inspect(7 as never))).code).toBe('INVALID_INPUT');
    expect(await recordsOfReads(kernel)).toEqual([]);
  });

  it('reads the goal that a process has now, and an earlier one by its id', async () => {
    const { kernel } = await kernelFixture();
    const pid = await kernel.processes.spawn({ image: 'worker', goal: 'First.' });
    const first = (await kernel.processes.get(pid)).goal;
    await kernel.processes.exec(pid, { image: 'worker', goal: 'Second.' });
    expect((await kernel.processes.goal(pid)).payload).toEqual({ text: 'Second.' });
    expect((await kernel.memory.inspect(first)).payload).toEqual({ text: 'First.' });
  });

  it('reads the newest version', async () => {
    const { kernel } = await kernelFixture();
    const pid = await kernel.processes.spawn({});
    const plan = await kernel.memory.create(pid, { type: 'plan', payload: 1, immutable: false });
    await kernel.memory.update(pid, plan, 2);
    expect(await kernel.memory.inspect(plan)).toMatchObject({ payload: 2, version: 2 });
  });

  it('is the only one that can: a face has none of these calls', async () => {
    const { kernel } = await kernelFixture();
    const face = kernel.as(await kernel.processes.spawn({})) as unknown as Record<string, Record<string, unknown>>;
    expect([face.memory?.inspect, face.memory?.list, face.goal, face.transcript]).toEqual(Array(4).fill(undefined));
  });
});

describe('memory.list', () => {
  it('lists objects without their payloads, by process, type and name, page by page', async () => {
    const { kernel, root, child, note } = await endedFamily();
    const { items } = await kernel.memory.list({ pid: child });
    expect(items.map(({ type, name }) => [type, name])).toEqual([
      ['goal', undefined],
      ['evidence', 'tide'],
      ['message', 'transcript'],
      ['artifact', undefined],
    ]);
    expect(items.some((item) => 'payload' in item)).toBe(false);
    const ids = async (filter: object) => (await kernel.memory.list(filter)).items.map(({ id }) => id);
    expect(await ids({ type: 'evidence' })).toEqual([note.id]);
    expect(await ids({ name: 'tide', pid: child })).toEqual([note.id]);
    expect(await ids({ name: 'tide', pid: root })).toEqual([]);
    const all: ObjectId[] = [];
    for (let after: string | undefined; ; ) {
      const page = await kernel.memory.list({ limit: 2, ...(after === undefined ? {} : { after }) });
      all.push(...page.items.map(({ id }) => id));
      after = page.next;
      if (after === undefined) break;
    }
    expect(all).toEqual(await ids({}));
    expect(await recordsOfReads(kernel)).toEqual([]);
    expect((await refusal(kernel.memory.list({ type: 'nothing' as never }))).code).toBe('INVALID_INPUT');
  });
});

describe('a read of the host', () => {
  it('is on record with the object and the operator, and its repeats as a count', async () => {
    const { kernel, path, child, note, transcript } = await endedFamily();
    const { goal } = await kernel.processes.get(child);
    await Promise.all([kernel.memory.inspect(note), kernel.memory.inspect(note)]);
    await kernel.processes.goal(child);
    await kernel.processes.transcript(child);
    for (let n = 0; n < 3; n++) await kernel.memory.inspect(note);
    const told = (await recordsOfReads(kernel)).map(({ actor, via, action, target, outcome, facts }) => {
      return [actor, via, action, target, outcome, facts];
    });
    expect(told).toEqual([
      ['host', 'host:ops', 'memory.inspect', undefined, 'ok', { object: note.id }],
      ['host', 'host:ops', 'process.goal', child, 'ok', { object: goal }],
      ['host', 'host:ops', 'process.transcript', child, 'ok', { object: transcript.id }],
    ]);
    await kernel.shutdown();
    const again = await openKernel({ store: path });
    expect((await recordsOfReads(again)).at(-1)).toMatchObject({
      actor: 'host',
      via: 'host:ops',
      action: 'audit.inspections',
      facts: { total: 4, counts: [{ action: 'memory.inspect', object: note.id, count: 4 }] },
    });
    expect((await again.audit.verify()).ok).toBe(true);
  });

  it('is on record again after a minute', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { kernel, note } = await endedFamily();
    await kernel.memory.inspect(note);
    await kernel.memory.inspect(note);
    vi.advanceTimersByTime(60_000);
    await eventually(async () => expect(await recordsOfReads(kernel)).toHaveLength(2));
    await kernel.memory.inspect(note);
    const actions = (await recordsOfReads(kernel)).map(({ action }) => action);
    expect(actions).toEqual(['memory.inspect', 'audit.inspections', 'memory.inspect']);
  });

  it('leaves no record in a store that is only read, and changes nothing in it', async () => {
    const { kernel, path, child, note, said } = await endedFamily();
    await kernel.shutdown();
    const before = await readStore(path);
    const reading = await openKernel({ store: path, readOnly: true });
    for (let n = 0; n < 2; n++) {
      expect((await reading.memory.inspect(note.id)).payload).toEqual({ tide: 9 });
      expect((await reading.processes.goal(child)).payload).toEqual({ text: 'Find the tide.', by: 'noon' });
      expect((await reading.processes.transcript(child))?.payload).toEqual(said);
    }
    expect((await reading.memory.list({ pid: child })).items).toHaveLength(4);
    expect(await recordsOfReads(reading)).toEqual([]);
    await reading.shutdown();
    expect((await readStore(path)).equals(before)).toBe(true);
  });
});

describe('what a process was asked, did and said', () => {
  it('survives sweeps until the process is pruned', async () => {
    const { kernel, root, child, note, said } = await endedFamily();
    const { goal, result = '' } = await kernel.processes.get(child);
    // The note, which nobody can reach.
    expect(await kernel.memory.sweep()).toEqual({ reclaimed: 1 });
    expect(await kernel.memory.inspect(note)).toMatchObject({ payload: null, deletedAt: expect.any(Number) });
    expect((await kernel.processes.goal(child)).payload).toEqual({ text: 'Find the tide.', by: 'noon' });
    expect((await kernel.processes.goal(root)).payload).toEqual({ text: 'Lead.' });
    expect((await kernel.processes.transcript(child))?.payload).toEqual(said);
    expect((await kernel.memory.inspect(result)).payload).toEqual({ tide: 9 });
    // The newest row is never pruned.
    await kernel.processes.spawn({});
    await kernel.processes.prune({ endedBefore: Date.now() + 60_000 });
    await kernel.memory.sweep();
    expect((await refusal(kernel.processes.goal(child))).code).toBe('NO_SUCH_PROCESS');
    const left = await kernel.memory.inspect(goal).catch(() => ({ payload: null }));
    expect(left.payload).toBeNull();
  });

  it('is null where it was erased: deleted, and swept', async () => {
    const { kernel } = await kernelFixture();
    const pid = await kernel.processes.spawn({ goal: 'Say it.' });
    const transcript = await kernel.memory.create(pid, {
      type: 'message',
      name: 'transcript',
      payload: { messages: [] },
    });
    await kernel.memory.delete(pid, transcript);
    await kernel.memory.delete(pid, (await kernel.processes.get(pid)).goal);
    expect((await kernel.processes.transcript(pid))?.payload).toEqual({ messages: [] });
    await kernel.memory.sweep();
    expect(await kernel.processes.transcript(pid)).toMatchObject({ id: transcript.id, payload: null });
    expect((await kernel.processes.goal(pid)).payload).toBeNull();
  });
});
