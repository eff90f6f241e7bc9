import { describe, expect, it } from 'vitest';
import { createKernel, type Kernel, type Message, ObjectHandle, type Pid } from '../../src/index.js';
import { ProcessFaces } from '../../src/kernel/face/process-faces.js';
import type { RunHooks } from '../../src/unit/caller.js';
import { trackCall, waitForPending } from '../support/capability/pending-approvals.js';
import { checkInvariants } from '../support/invariants.js';
import { newStore, refusal, tempFolder } from '../support/kernel.js';
import { eventsAfter, type KernelFixture, kernelFixture, lastSeq } from '../support/kernel-fixture.js';
import { refusalDetails } from '../support/memory/owner-and-stranger.js';
import { queuedCalls } from '../support/queued-calls.js';
import { openRawTables } from '../support/storage/raw-tables.js';
import { runsUnitsOnce } from '../support/store-modes.js';

interface Family extends KernelFixture {
  readonly parent: Pid;
  readonly child: Pid;
  readonly stranger: Pid;
}

async function familyFixture(given?: KernelFixture): Promise<Family> {
  const place = given ?? (await kernelFixture());
  const { processes } = place.kernel;
  const parent = await processes.spawn({ image: 'worker' });
  const child = await processes.spawnChild(parent, { image: 'worker' });
  const stranger = await processes.spawn({ image: 'worker' });
  return { ...place, parent, child, stranger };
}

function openSecondKernel(path: string): Promise<Kernel> {
  return createKernel({ logger: 'silent', store: path, workspace: tempFolder(), node: { executor: false } });
}

const poll = { timeoutMs: 0 };

/** Takes all messages out of a mailbox. */
async function takeAll(kernel: Kernel, pid: Pid): Promise<Message[]> {
  const taken: Message[] = [];
  for (;;) {
    const next = await kernel
      .as(pid)
      .receive(poll)
      .catch((error: { code: string }) => error.code);
    if (typeof next === 'string') {
      expect(next).toBe('WAIT_TIMEOUT');
      return taken;
    }
    taken.push(next);
  }
}

/** Sends `count` messages to `to`: up to 240 from `first`, the rest from children of `to`. */
async function fill(kernel: Kernel, to: Pid, first: Pid, count: number): Promise<void> {
  const senders = [first, ...(await Promise.all([1, 2, 3, 4].map(() => kernel.processes.spawnChild(to, {}))))];
  await Promise.all(
    Array.from({ length: count }, (_, n) => {
      const [sender = first] = n < 240 ? [first] : senders.slice(1 + (n % 4));
      return kernel.as(sender).send(to, n);
    }),
  );
}

describe('send', () => {
  it('reaches a child and the parent, and what was sent comes out as it was', async () => {
    const { kernel, path, parent, child } = await familyFixture();
    const body = { text: 'hello', list: [1, null, { deep: true }] };
    await kernel.as(parent).send(child, body);
    await kernel.as(child).send(parent, 'thanks');
    const message = await kernel.as(child).receive();
    expect(message).toEqual({
      id: expect.stringMatching(/^m_/),
      from: parent,
      at: expect.any(Number),
      kind: 'message',
      body,
    });
    expect(await kernel.as(parent).receive()).toMatchObject({ from: child, body: 'thanks' });
    expect((await refusal(kernel.as(child).receive(poll))).code).toBe('WAIT_TIMEOUT');
    await checkInvariants(kernel, path);
  });

  it('carries null, an empty text, and members whose names belong to every object', async () => {
    const { kernel, parent, child } = await familyFixture();
    const bodies = [null, '', 0, false, [], {}, JSON.parse('{"constructor":1,"toString":{"valueOf":null}}')];
    for (const body of bodies) await kernel.as(parent).send(child, body);
    expect((await takeAll(kernel, child)).map(({ body }) => body)).toEqual(bodies);
  });

  it('is recorded as allowed by kinship, with the body beside the record, and is an event of the receiver', async () => {
    const { kernel, parent, child } = await familyFixture();
    const before = await lastSeq(kernel);
    await kernel.as(parent).send(child, { secret: 'tea' });
    const { id } = await kernel.as(child).receive();
    expect(await eventsAfter(kernel, before)).toEqual([
      ['message.sent', child],
      ['message.received', child],
    ]);
    const { items } = await kernel.audit.list({ action: 'message.send' });
    expect(items).toMatchObject([
      { actor: parent, target: child, outcome: 'ok', capability: 'kin', facts: { message: id } },
    ]);
    expect(items[0]?.payload).toEqual({ body: { secret: 'tea' } });
    await kernel.audit.erase(items[0]?.seq ?? 0, 'private');
    expect((await kernel.audit.verify()).ok).toBe(true);
  });

  it('reaches a stranger by a capability, which the record names', async () => {
    const { kernel, path, parent, stranger } = await familyFixture();
    const { id } = await kernel.capabilities.grant(parent, { resource: `process:${stranger}`, rights: ['send'] });
    await kernel.as(parent).send(stranger, 1);
    expect(await kernel.as(stranger).receive()).toMatchObject({ from: parent, body: 1 });
    expect((await kernel.audit.list({ action: 'message.send' })).items).toMatchObject([{ capability: id }]);
    await checkInvariants(kernel, path);
  });

  it('takes a use of a capability that has finite ones, and none where it is refused', async () => {
    const { kernel, parent, stranger, refused } = await familyFixture();
    const spec = { resource: `process:${stranger}`, rights: ['send' as const], uses: 2 };
    const { id } = await kernel.capabilities.grant(parent, spec);
    await kernel.as(parent).send(stranger, 1);
    expect(
      (await refused(() => kernel.as(parent).send(stranger, { bad: 'o' as never, f: (() => 1) as never }))).code,
    ).toBe('INVALID_INPUT');
    expect((await kernel.capabilities.get(id)).uses).toBe(1);
    await kernel.as(parent).send(stranger, 2);
    expect((await refused(() => kernel.as(parent).send(stranger, 3))).code).toBe('CAPABILITY_DENIED');
  });

  it('refuses a stranger, a grandchild, one that has ended and nobody, all alike, and itself', async () => {
    const { kernel, path, parent, child, stranger, refused } = await familyFixture();
    const below = await kernel.processes.spawnChild(child, { image: 'worker' });
    const gone = await kernel.processes.spawn({});
    await kernel.processes.exit(gone);
    const answers = new Set<string>();
    for (const to of [stranger, below, gone, 'p_none']) {
      expect((await refused(() => kernel.as(parent).send(to, 'x'))).code).toBe('CAPABILITY_DENIED');
      answers.add(JSON.stringify(await refusalDetails(() => kernel.as(parent).send(to, 'x'), to)));
    }
    expect(answers.size).toBe(1);
    expect((await refused(() => kernel.as(parent).send(parent, 'x'))).code).toBe('CAPABILITY_DENIED');
    const { items } = await kernel.audit.list({ actor: parent, outcome: 'refused' });
    expect(new Set(items.map(({ action, code }) => `${action} ${code}`))).toEqual(
      new Set(['message.send CAPABILITY_DENIED']),
    );
    await checkInvariants(kernel, path);
  });

  it('refuses one that it may send to and that has ended, but not one that is being stopped', async () => {
    const { kernel, parent, child, refused, edit } = await familyFixture();
    await edit(child, { status: 'running', node: 'n_other' });
    await kernel.processes.cancel(child);
    expect((await kernel.processes.get(child)).status).toBe('stopping');
    await kernel.as(parent).send(child, 'last words');
    expect(await kernel.as(child).receive()).toMatchObject({ body: 'last words' });
    await kernel.processes.kill(child);
    expect(await refused(() => kernel.as(parent).send(child, 'too late'))).toMatchObject({
      code: 'PROCESS_TERMINATED',
      facts: { pid: child },
    });
  });

  it('is refused to a process that has ended or never was', async () => {
    const { kernel, parent, child, refused } = await familyFixture();
    await kernel.processes.exit(parent);
    expect((await refused(() => kernel.as(parent).send(child, 1))).code).toBe('PROCESS_TERMINATED');
    expect((await refused(() => kernel.as('p_none').send(child, 1))).code).toBe('NO_SUCH_PROCESS');
  });

  it('is bound by a rule that denies it, also between kin', async () => {
    const { kernel, path, parent, child, refused } = await familyFixture();
    const rule = await kernel.capabilities.deny(child, { resource: `process:${parent}`, rights: ['send'] });
    expect(await refused(() => kernel.as(child).send(parent, 1))).toMatchObject({
      code: 'CAPABILITY_DENIED',
      facts: { code: 'DENY_RULE' },
    });
    await kernel.as(parent).send(child, 1);
    await kernel.capabilities.lift(rule.id);
    await kernel.as(child).send(parent, 2);
    expect((await takeAll(kernel, parent)).map(({ body }) => body)).toEqual([2]);
    await checkInvariants(kernel, path);
  });

  it('waits where a rule asks, and an answer is for this message and no other', async () => {
    const { kernel, path, parent, child } = await familyFixture();
    await kernel.capabilities.ask(parent, { resource: 'process:**', rights: ['send'] });
    const first = trackCall(kernel.as(parent).send(child, 'harmless'));
    const question = await waitForPending(kernel);
    expect(question).toMatchObject({ right: 'send', resource: `process:${child}`, args: { message: 'harmless' } });
    await kernel.approvals.answer(question.id, { decision: 'once', by: 'ann' });
    await first.done;
    const second = trackCall(kernel.as(parent).send(child, 'harmful'));
    await kernel.approvals.answer((await waitForPending(kernel)).id, { decision: 'deny', by: 'ann' });
    await second.done;
    expect([first.state, second.state]).toEqual(['resolved', 'APPROVAL_DENIED']);
    expect((await takeAll(kernel, child)).map(({ body }) => body)).toEqual(['harmless']);
    await checkInvariants(kernel, path);
  });

  it('refuses what is no data, too large or too deep', async () => {
    const { kernel, parent, child, refused } = await familyFixture();
    let deep: unknown = 1;
    for (let level = 0; level < 65; level++) deep = [deep];
    for (const body of [undefined, 'x'.repeat(1024 * 1024), deep, { at: new Date(0) }, { f: () => 1 }, Number.NaN]) {
      expect((await refused(() => kernel.as(parent).send(child, body as never))).code).toBe('INVALID_INPUT');
    }
    await kernel.as(parent).send(child, 'x'.repeat(1_000_000));
    expect(await takeAll(kernel, child)).toHaveLength(1);
  });

  it('fills a mailbox up to its bound, and goes on when something was taken', async () => {
    const { kernel, path, parent, child, refused } = await familyFixture();
    const sender = await kernel.processes.spawnChild(child, {});
    await fill(kernel, child, sender, 1_000);
    const full = () => kernel.as(sender).send(child, 'one more');
    const facts = { to: child, limit: 1_000, bound: 'mailbox' };
    expect(await refused(full)).toEqual({ code: 'MAILBOX_FULL', facts });
    await expect(full()).rejects.toMatchObject({ name: 'ProcessError', retryable: true });
    expect(await kernel.as(child).receive({ from: sender })).toMatchObject({ body: 0 });
    await full();
    expect(await refused(full)).toMatchObject({ code: 'MAILBOX_FULL' });
    await kernel.as(child).send(parent, 'others have their own');
    await checkInvariants(kernel, path);
  });

  it('gets through to a full mailbox from the parent and from the host, each up to a bound of its own', async () => {
    const { kernel, path, parent, child, refused } = await familyFixture();
    const sender = await kernel.processes.spawnChild(child, {});
    await fill(kernel, child, sender, 1_000);
    expect((await refused(() => kernel.as(sender).send(child, 'one more'))).code).toBe('MAILBOX_FULL');
    await Promise.all(Array.from({ length: 1_000 }, (_, n) => kernel.processes.send(child, n)));
    await Promise.all(Array.from({ length: 250 }, (_, n) => kernel.as(parent).send(child, n)));
    expect((await refused(() => kernel.processes.send(child, 'one more'))).facts).toMatchObject({ limit: 1_000 });
    expect((await refused(() => kernel.as(parent).send(child, 'one more'))).facts).toMatchObject({ limit: 250 });
    expect(await kernel.as(child).receive({ from: 'host' })).toMatchObject({ body: 0 });
    expect(await kernel.as(child).receive({ from: parent })).toMatchObject({ body: 0 });
    await checkInvariants(kernel, path);
  });

  it('finds its places although many commands have ended', async () => {
    const { kernel, path, parent, child } = await familyFixture();
    await using tables = openRawTables(path);
    const notice = { to_pid: parent, from_pid: child, at: 1, kind: 'command.ended', body: '{}', handles: null };
    await tables.insert(
      'messages',
      ...Array.from({ length: 1_000 }, (_, n) => ({ n: n + 1, id: `m_${n}`, ...notice })),
    );
    await kernel.as(child).send(parent, 'still');
    expect((await takeAll(kernel, parent)).at(-1)).toMatchObject({ body: 'still', kind: 'message' });
  });

  it('of one sender takes a quarter of a mailbox, and the others still get through', async () => {
    const { kernel, path, parent, child, refused } = await familyFixture();
    const other = await kernel.processes.spawnChild(child, {});
    const flood = Array.from({ length: 300 }, (_, n) => trackCall(kernel.as(parent).send(child, n)));
    await Promise.all(flood.map(({ done }) => done));
    const states = flood.map(({ state }) => state).sort();
    expect(states).toEqual([...Array(50).fill('MAILBOX_FULL'), ...Array(250).fill('resolved')]);
    const full = () => kernel.as(parent).send(child, 'one more');
    const facts = { to: child, limit: 250, bound: 'sender' };
    expect(await refused(full)).toEqual({ code: 'MAILBOX_FULL', facts });
    await expect(full()).rejects.toMatchObject({ retryable: true });
    await kernel.as(other).send(child, 'mine');
    expect(await kernel.as(child).receive({ from: other })).toMatchObject({ body: 'mine' });
    expect(await refused(full)).toMatchObject({ code: 'MAILBOX_FULL' });
    await kernel.as(child).receive({ from: parent });
    await full();
    await checkInvariants(kernel, path);
  });

  it('that comes to the last place with many others finds exactly one place', async () => {
    const { kernel, child } = await familyFixture();
    const sender = await kernel.processes.spawnChild(child, {});
    await fill(kernel, child, sender, 999);
    const racing = Array.from({ length: 20 }, () => trackCall(kernel.as(sender).send(child, 'last')));
    await Promise.all(racing.map(({ done }) => done));
    const states = racing.map(({ state }) => state).sort();
    expect(states).toEqual([...Array(19).fill('MAILBOX_FULL'), 'resolved']);
  });
});

describe('receive', () => {
  it('gets what each of many concurrent senders sent in its order, and each message once', async () => {
    const { kernel, path, parent } = await familyFixture();
    const senders = await Promise.all(Array.from({ length: 8 }, () => kernel.processes.spawnChild(parent, {})));
    const sending = senders.flatMap((pid) => Array.from({ length: 25 }, (_, n) => kernel.as(pid).send(parent, n)));
    const receiving = Array.from({ length: 200 }, () => kernel.as(parent).receive());
    await Promise.all(sending);
    const messages = await Promise.all(receiving);
    expect(new Set(messages.map(({ id }) => id)).size).toBe(200);
    for (const pid of senders) {
      const bodies = messages.filter(({ from }) => from === pid).map(({ body }) => Number(body));
      expect(bodies.sort((a, b) => a - b)).toEqual(Array.from({ length: 25 }, (_, n) => n));
    }
    // Messages are taken in the order of the events; the invariant compares it with the order of the sends.
    await checkInvariants(kernel, path);
  });

  it('of 20 callers at once gets each of 20 messages exactly once, whether they come before or after', async () => {
    const { kernel, path, parent, child } = await familyFixture();
    for (const isFirst of [true, false]) {
      const receive = () => Array.from({ length: 20 }, () => kernel.as(child).receive());
      const send = () => Promise.all(Array.from({ length: 20 }, (_, n) => kernel.as(parent).send(child, n)));
      const early = isFirst ? receive() : [];
      await send();
      const bodies = (await Promise.all(isFirst ? early : receive())).map(({ body }) => body);
      expect(bodies).toEqual(Array.from({ length: 20 }, (_, n) => n));
    }
    expect(await takeAll(kernel, child)).toEqual([]);
    await checkInvariants(kernel, path);
  });

  it('finds what was sent before the kernel was closed and opened again', async () => {
    const path = await newStore();
    const first = await familyFixture(await kernelFixture({ store: path }));
    const { parent, child } = first;
    for (const n of [1, 2, 3]) await first.kernel.as(parent).send(child, n);
    await first.kernel.as(child).receive();
    await first.kernel.shutdown();
    const { kernel } = await kernelFixture({ store: path });
    expect((await takeAll(kernel, child)).map(({ body }) => body)).toEqual([2, 3]);
    await checkInvariants(kernel, path);
  });

  it('takes only what the named process sent, and leaves the rest in its order', async () => {
    const { kernel, path, parent } = await familyFixture();
    const [a, b] = [await kernel.processes.spawnChild(parent), await kernel.processes.spawnChild(parent)];
    await kernel.as(a).send(parent, 'a1');
    await kernel.as(b).send(parent, 'b1');
    await kernel.as(a).send(parent, 'a2');
    await kernel.as(b).send(parent, 'b2');
    const face = kernel.as(parent);
    expect(await face.receive({ from: b })).toMatchObject({ body: 'b1' });
    expect(await face.receive()).toMatchObject({ body: 'a1' });
    expect(await face.receive({ from: b })).toMatchObject({ body: 'b2' });
    expect((await refusal(face.receive({ from: b, timeoutMs: 0 }))).code).toBe('WAIT_TIMEOUT');
    expect(await face.receive({ from: a })).toMatchObject({ body: 'a2' });
    await checkInvariants(kernel, path);
  });

  it('that waits for one sender is not satisfied by another', async () => {
    const { kernel, parent, child } = await familyFixture();
    const other = await kernel.processes.spawnChild(parent);
    const waiting = trackCall(kernel.as(parent).receive({ from: child }));
    await kernel.as(other).send(parent, 'not this');
    await kernel.as(child).send(parent, 'this');
    expect(await waiting.done).toMatchObject({ body: 'this' });
    expect((await takeAll(kernel, parent)).map(({ body }) => body)).toEqual(['not this']);
  });

  it('is woken by a message that another kernel on the same file commits', async () => {
    const { kernel, path, parent, child } = await familyFixture();
    await using other = await openSecondKernel(path);
    const waiting = kernel.as(child).receive();
    await other.as(parent).send(child, 'from afar');
    expect(await waiting).toMatchObject({ body: 'from afar' });
    await checkInvariants(kernel, path);
  });

  it('of two kernels on one file shares a mailbox: each message is taken once', async () => {
    const { kernel, path, parent, child } = await familyFixture();
    await using other = await openSecondKernel(path);
    const receiving = [kernel, other].flatMap((one) => Array.from({ length: 10 }, () => one.as(child).receive()));
    const sending = Array.from({ length: 20 }, (_, n) => [kernel, other][n % 2]?.as(parent).send(child, n));
    await Promise.all(sending);
    const bodies = (await Promise.all(receiving)).map(({ body }) => Number(body));
    expect(bodies.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, n) => n));
    await checkInvariants(kernel, path);
  });

  it('gives up after its timeout, and a poll at once; nothing is written', async () => {
    const { kernel, child, refused } = await familyFixture();
    const facts = { pid: child, kind: 'message', what: '' };
    expect(await refused(() => kernel.as(child).receive(poll))).toEqual({
      code: 'WAIT_TIMEOUT',
      facts: { ...facts, timeoutMs: 0 },
    });
    expect(await refused(() => kernel.as(child).receive({ timeoutMs: 20 }))).toEqual({
      code: 'WAIT_TIMEOUT',
      facts: { ...facts, timeoutMs: 20 },
    });
    const { items } = await kernel.audit.list({ actor: child });
    expect(items).toEqual([]);
  });

  it('gets what comes before its timeout is over', async () => {
    const { kernel, parent, child } = await familyFixture();
    const waiting = kernel.as(child).receive({ timeoutMs: 600_000 });
    await kernel.as(parent).send(child, 'in time');
    expect(await waiting).toMatchObject({ body: 'in time' });
  });

  it('is given up by the signal of its caller, before and while it waits', async () => {
    const { kernel, child, refused } = await familyFixture();
    const signal = AbortSignal.abort();
    expect((await refused(() => kernel.as(child).receive({ signal }))).code).toBe('CANCELLED');
    const controller = new AbortController();
    const waiting = trackCall(kernel.as(child).receive({ signal: controller.signal }));
    await queuedCalls(kernel);
    controller.abort();
    await waiting.done;
    expect(waiting.state).toBe('CANCELLED');
  });

  it('takes what is there although its caller has given up', async () => {
    const { kernel, parent, child } = await familyFixture();
    await kernel.as(parent).send(child, 1);
    expect(await kernel.as(child).receive({ signal: AbortSignal.abort() })).toMatchObject({ body: 1 });
  });

  it('ends with the stop and the end of its process', async () => {
    const { kernel, child, edit } = await familyFixture();
    await edit(child, { status: 'running', node: 'n_other' });
    const stopped = trackCall(kernel.as(child).receive());
    await kernel.processes.cancel(child);
    await stopped.done;
    expect(stopped.state).toBe('CANCELLED');
    expect((await refusal(kernel.as(child).receive())).code).toBe('CANCELLED');
    const ended = await kernel.processes.spawn({});
    const killed = trackCall(kernel.as(ended).receive());
    await kernel.processes.kill(ended);
    await killed.done;
    expect(killed.state).toBe('PROCESS_TERMINATED');
    expect((await refusal(kernel.as(ended).receive(poll))).code).toBe('PROCESS_TERMINATED');
    expect((await refusal(kernel.as('p_none').receive(poll))).code).toBe('NO_SUCH_PROCESS');
  });

  it('is woken when the kernel closes', async () => {
    const { kernel, child } = await familyFixture();
    const waiting = trackCall(kernel.as(child).receive());
    await queuedCalls(kernel);
    await kernel.shutdown();
    await waiting.done;
    expect(waiting.state).toBe('KERNEL_CLOSED');
  });

  it('goes on after an exec with what was there, and not after the end', async () => {
    const { kernel, path, parent, child } = await familyFixture();
    await kernel.as(parent).send(child, 'kept');
    await kernel.processes.exec(child, { image: 'worker' });
    expect(await kernel.as(child).receive()).toMatchObject({ body: 'kept' });
    await kernel.as(parent).send(child, 'dropped');
    await kernel.processes.exit(child);
    await checkInvariants(kernel, path);
  });

  it('refuses options that it does not know', async () => {
    const { kernel, child, refused } = await familyFixture();
    for (const options of [{ timeoutMs: -1 }, { from: 5 }, { surprise: 1 }, { signal: {} }, null, 7]) {
      expect((await refused(() => kernel.as(child).receive(options as never))).code).toBe('INVALID_INPUT');
    }
  });
});

describe('a message that a process waits for', () => {
  const waiting = (on: string[]) => ({
    status: 'waiting',
    wait: JSON.stringify({ kind: 'message', what: '', since: 1, on }),
  });

  it('wakes it in the commit of the sending, whoever it waits for it from', async () => {
    const { kernel, parent, child, edit, row } = await familyFixture();
    for (const token of ['message:*', `message:${parent}`]) {
      await edit(child, { ...waiting([token]), node: 'n_other' });
      const before = await lastSeq(kernel);
      await kernel.as(parent).send(child, 1);
      expect(await row(child)).toMatchObject({ status: 'running', wait: null });
      expect(await eventsAfter(kernel, before)).toEqual([
        ['message.sent', child],
        ['process.woken', child],
      ]);
    }
  });

  it('from another process does not wake it', async () => {
    const { kernel, parent, child, edit, row } = await familyFixture();
    await edit(child, waiting(['message:p_other']));
    await kernel.as(parent).send(child, 1);
    expect((await row(child)).status).toBe('waiting');
  });
});

describe('a receive in the run of a body', () => {
  /** Hooks that log their calls. A read may be made again, from the file where memory does not know the answer. */
  function noting(): RunHooks & { readonly noted: unknown[] } {
    const noted: unknown[] = [];
    return {
      noted,
      recordsOnly: false,
      beforeRead: async () => {
        if (noted.at(-1) !== 'look') noted.push('look');
        return { pid: '', isPaused: false, deadlineAt: null };
      },
      beforeWrite: async () => {
        noted.push('enter');
        return { pid: '', isPaused: false, deadlineAt: null };
      },
      afterWrite: async (_tx, _act, answer) => void noted.push({ answer }),
      whileWaiting: async (reason, wait) => {
        noted.push(reason);
        return wait();
      },
    };
  }

  it.skipIf(!runsUnitsOnce)(
    'tells the run what it is blocked on, and leaves its answer in the unit that takes it',
    async () => {
      const { kernel, parent, child } = await familyFixture();
      const run = noting();
      const waiting = kernel.container.get(ProcessFaces).of(child, run).receive({ from: parent, timeoutMs: 600_000 });
      await expect.poll(() => run.noted.length).toBe(2);
      await kernel.as(parent).send(child, 'here');
      const answer = await waiting;
      const on = [`message:${parent}`];
      const reason = { kind: 'message', what: parent, on, deadline: expect.any(Number) };
      expect(run.noted).toEqual(['look', reason, 'look', 'enter', { answer }]);
    },
  );

  it.skipIf(!runsUnitsOnce)('leaves nothing where it finds nothing, or where another was faster', async () => {
    const { kernel, parent, child, refused } = await familyFixture();
    const runs = [noting(), noting(), noting()];
    const faces = runs.map((run) => kernel.container.get(ProcessFaces).of(child, run));
    await refused(() => faces[0]?.receive(poll) ?? Promise.resolve());
    expect(runs[0]?.noted).toEqual(['look']);
    await kernel.as(parent).send(child, 'for one of them');
    const states = faces.map((face) => trackCall(face.receive(poll)));
    await Promise.all(states.map(({ done }) => done));
    expect(states.map(({ state }) => state).sort()).toEqual(['WAIT_TIMEOUT', 'WAIT_TIMEOUT', 'resolved']);
    expect(runs.flatMap(({ noted }) => noted).filter((note) => typeof note === 'object')).toHaveLength(1);
  });
});

describe('a handle in a message', () => {
  const note = (kernel: Kernel, pid: Pid, payload: unknown = { n: 1 }) =>
    kernel.memory.create(pid, { type: 'claim', payload: payload as never });

  it('gives the receiver the reading of the object, at any depth', async () => {
    const { kernel, path, parent, child } = await familyFixture();
    const [one, two] = [await note(kernel, parent, 1), await note(kernel, parent, 2)];
    await kernel.as(parent).send(child, { look: [{ at: one }, 'and', two], plain: null });
    await kernel.as(parent).send(child, two);
    const { body } = await kernel.as(child).receive();
    expect(body).toEqual({ look: [{ at: expect.any(ObjectHandle) }, 'and', expect.any(ObjectHandle)], plain: null });
    const { look } = body as { readonly look: [{ at: ObjectHandle }, string, ObjectHandle] };
    const received = [look[0].at, look[2]];
    expect(received.map(({ id, rights }) => [id, rights])).toEqual([
      [one.id, ['read']],
      [two.id, ['read']],
    ]);
    const payloads = await Promise.all(received.map((handle) => kernel.as(child).memory.read(handle)));
    expect(payloads.map(({ payload }) => payload)).toEqual([1, 2]);
    expect((await kernel.as(child).receive()).body).toBeInstanceOf(ObjectHandle);
    await checkInvariants(kernel, path);
  });

  it('gives a capability that is derived from the sender’s, seen at once, and on record', async () => {
    const { kernel, parent, child, refused } = await familyFixture();
    const handle = await note(kernel, parent);
    expect((await kernel.capabilities.check(child, 'read', `object:${handle.id}`)).effect).toBe('deny');
    await kernel.as(parent).send(child, [handle]);
    expect((await kernel.capabilities.check(child, 'read', `object:${handle.id}`)).effect).toBe('allow');
    const [received] = (await kernel.as(child).receive()).body as ObjectHandle[];
    const capability = await kernel.capabilities.get(received?.capability ?? '');
    expect(capability).toMatchObject({ holder: child, resource: `object:${handle.id}`, rights: ['read'] });
    const { items } = await kernel.audit.list({ action: 'message.send' });
    expect(items[0]?.facts).toMatchObject({ given: [{ object: handle.id, reading: capability.id }] });
    expect((await refused(() => kernel.as(child).memory.update(handle, 2))).code).toBe('NO_SUCH_OBJECT');
    await kernel.capabilities.revoke(capability.id);
    expect((await refusal(kernel.as(child).memory.read(received as ObjectHandle))).code).toBe('NO_SUCH_OBJECT');
  });

  it('is a handle again after the kernel was closed and opened again', async () => {
    const path = await newStore();
    const first = await familyFixture(await kernelFixture({ store: path }));
    const { parent, child } = first;
    await first.kernel.as(parent).send(child, { it: await note(first.kernel, parent) });
    await first.kernel.shutdown();
    const { kernel } = await kernelFixture({ store: path });
    const { it: handle } = (await kernel.as(child).receive()).body as { it: ObjectHandle };
    expect(ObjectHandle.is(handle)).toBe(true);
    expect(await kernel.as(child).memory.read(handle)).toMatchObject({ payload: { n: 1 } });
  });

  it('that the sender may not hand on, may not see, or that is gone is refused alike, and nothing is sent', async () => {
    const { kernel, path, parent, child, stranger, refused } = await familyFixture();
    const foreign = await note(kernel, stranger);
    const lent = await kernel.memory.share(stranger, parent, foreign, ['read']);
    const ofOther = await note(kernel, stranger, 2);
    const deleted = await kernel.memory.create(parent, { type: 'claim', payload: 1, immutable: false });
    await kernel.memory.delete(parent, deleted);
    for (const handle of [lent, foreign, ofOther, deleted]) {
      expect(await refused(() => kernel.as(parent).send(child, { a: [handle] }))).toEqual({
        code: 'NO_SUCH_OBJECT',
        facts: { object: handle.id },
      });
    }
    expect(await takeAll(kernel, child)).toEqual([]);
    await checkInvariants(kernel, path);
  });

  it('that may be handed on goes on to the next', async () => {
    const { kernel, path, parent, child, stranger } = await familyFixture();
    const foreign = await note(kernel, stranger);
    await kernel.memory.share(stranger, parent, foreign, ['read', 'grant']);
    await kernel.as(parent).send(child, foreign);
    const handle = (await kernel.as(child).receive()).body as ObjectHandle;
    expect(await kernel.as(child).memory.read(handle)).toMatchObject({ payload: { n: 1 } });
    await checkInvariants(kernel, path);
  });

  it('received by a message cannot be sent on: it was given to read', async () => {
    const { kernel, parent, child, refused } = await familyFixture();
    const below = await kernel.processes.spawnChild(child);
    await kernel.as(parent).send(child, await note(kernel, parent));
    const handle = (await kernel.as(child).receive()).body as ObjectHandle;
    expect((await refused(() => kernel.as(child).send(below, handle))).code).toBe('NO_SUCH_OBJECT');
  });

  it('that came from the receiver goes back as its own', async () => {
    const { kernel, path, parent, child } = await familyFixture();
    const own = await note(kernel, parent);
    await kernel.memory.share(parent, child, own, ['read', 'grant']);
    await kernel.as(child).send(parent, { about: own });
    const { about } = (await kernel.as(parent).receive()).body as { about: ObjectHandle };
    expect(await kernel.as(parent).memory.read(about)).toMatchObject({ payload: { n: 1 } });
    expect((await kernel.capabilities.list(parent)).map(({ resource }) => resource)).toEqual([
      `ns:process/${parent}/**`,
    ]);
    await checkInvariants(kernel, path);
  });

  it('of a child that has ended stays readable by what the child leaves', async () => {
    const { kernel, path, parent, child } = await familyFixture();
    await kernel.as(child).send(parent, await note(kernel, child));
    await kernel.processes.exit(child);
    const handle = (await kernel.as(parent).receive()).body as ObjectHandle;
    expect(await kernel.as(parent).memory.read(handle)).toMatchObject({ payload: { n: 1 } });
    await checkInvariants(kernel, path);
  });

  it('that looks like one in JSON stays data, and gives nothing', async () => {
    const { kernel, parent, child, stranger } = await familyFixture();
    const own = await note(kernel, parent);
    const foreign = await note(kernel, stranger);
    const forged = [own.toJSON(), foreign.toJSON(), { object: own.id }, own.id];
    await kernel.as(parent).send(child, forged);
    const { body } = await kernel.as(child).receive();
    expect(body).toEqual(forged);
    expect((body as unknown[]).some((part) => ObjectHandle.is(part))).toBe(false);
    expect((await kernel.capabilities.check(child, 'read', `object:${own.id}`)).effect).toBe('deny');
    const posing = Object.create(ObjectHandle.prototype, { id: { value: own.id, enumerable: true } });
    expect((await refusal(kernel.as(parent).send(child, posing))).code).toBe('INVALID_INPUT');
  });

  it('does not leave the reach of a rule that binds the sender', async () => {
    const { kernel, parent, child, refused } = await familyFixture();
    const own = await note(kernel, child);
    await kernel.capabilities.deny(child, { resource: `object:${own.id}`, rights: ['materialize', 'read'] });
    expect((await refused(() => kernel.as(child).send(parent, own))).code).toBe('NO_SUCH_OBJECT');
    const kept = await note(kernel, child);
    await kernel.capabilities.ask(child, { resource: `object:${kept.id}`, rights: ['read'] });
    expect((await refused(() => kernel.as(child).send(parent, kept))).code).toBe('CAPABILITY_DENIED');
    await kernel.as(child).send(parent, 'without it');
  });

  it('is refused to a receiver that is being stopped, which gets nothing any more', async () => {
    const { kernel, parent, child, refused, edit } = await familyFixture();
    await edit(child, { status: 'running', node: 'n_other' });
    await kernel.processes.cancel(child);
    const own = await note(kernel, parent);
    expect((await refused(() => kernel.as(parent).send(child, own))).code).toBe('TREE_STOPPING');
  });

  it('is one of a hundred at most', async () => {
    const { kernel, parent, child, refused } = await familyFixture();
    const own = await note(kernel, parent);
    expect(await refused(() => kernel.as(parent).send(child, Array(101).fill(own)))).toMatchObject({
      code: 'INVALID_INPUT',
      facts: { handlesMax: 100 },
    });
    await kernel.as(parent).send(child, Array(100).fill(own));
    expect((await kernel.as(child).receive()).body).toHaveLength(100);
  });
});
