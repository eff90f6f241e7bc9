import type { Facts } from './invariants.js';

/** (17) Signals and messages are delivered at most once, in order per sender, and none is lost while its receiver lives. */
export function checkDelivery(facts: Facts): string[] {
  return [...checkMessages(facts), ...checkSignals(facts)];
}

const terminalStatuses = new Set(['exited', 'failed', 'killed', 'abandoned']);

function checkMessages({ processes, messages, events }: Facts): string[] {
  const sent = queuesOf(events, 'message.sent', ({ from, message }) => [from, message]);
  const received = queuesOf(events, 'message.received', ({ from, message }) => [from, message]);
  const waiting = new Map<string, string[]>();
  for (const { id, to_pid, from_pid } of messages) append(waiting, `${to_pid} from ${from_pid}`, id);
  const live = new Set(processes.filter(({ status }) => !terminalStatuses.has(status)).map(({ pid }) => pid));
  return [...new Set([...sent.keys(), ...received.keys(), ...waiting.keys()])].flatMap((key) => {
    const all = sent.get(key) ?? [];
    const got = received.get(key) ?? [];
    const left = waiting.get(key) ?? [];
    const isLive = live.has(key.split(' ')[0] ?? '');
    if (!isSame(got, all.slice(0, got.length))) return [`(17) ${key}: received ${got} of ${all}`];
    if (!isLive) return left.length === 0 ? [] : [`(17) ${key}: ${left} waits for one that has ended`];
    return isSame(left, all.slice(got.length)) ? [] : [`(17) ${key}: ${left} waits, ${got} of ${all} was received`];
  });
}

function checkSignals({ processes, signals, events }: Facts): string[] {
  const kept = new Set(processes.map(({ pid }) => pid));
  const sent = queuesOf(events, 'process.signalled', ({ signal, ordinal }) => [signal, ordinal]);
  const received = queuesOf(events, 'process.received', ({ signal, ordinal }) => [signal, ordinal]);
  const stored = new Map<string, { ordinal: string; taken: boolean }[]>();
  for (const { pid, name, ordinal, taken } of signals) {
    const key = `${pid} from ${name}`;
    stored.set(key, [...(stored.get(key) ?? []), { ordinal: `${ordinal}`, taken: taken === 1 }]);
  }
  return [...new Set([...sent.keys(), ...received.keys(), ...stored.keys()])].flatMap((key) => {
    // The rows of a pruned process are gone.
    if (!kept.has(key.split(' ')[0] ?? '')) return [];
    const rows = stored.get(key) ?? [];
    const taken = rows.filter((row) => row.taken).map(({ ordinal }) => ordinal);
    const inOrder = rows.map((_, index) => `${index + 1}`);
    const wrong: string[] = [];
    if (!isSame(sent.get(key) ?? [], inOrder)) wrong.push(`(17) ${key}: sent ${sent.get(key)}, stored ${inOrder}`);
    if (!isSame(received.get(key) ?? [], inOrder.slice(0, taken.length))) {
      wrong.push(`(17) ${key}: received ${received.get(key)}, taken ${taken}`);
    }
    if (!isSame(taken, inOrder.slice(0, taken.length))) wrong.push(`(17) ${key}: ${taken} was taken out of order`);
    return wrong;
  });
}

/** The messages or signals of one event type, by receiver and sender or name, in the order of the log. */
function queuesOf(
  events: Facts['events'],
  wanted: string,
  pick: (data: Record<string, unknown>) => [from: unknown, what: unknown],
): Map<string, string[]> {
  const queues = new Map<string, string[]>();
  for (const { type, pid, data } of events) {
    if (type !== wanted) continue;
    const [from, what] = pick(JSON.parse(data) as Record<string, unknown>);
    append(queues, `${pid} from ${from}`, `${what}`);
  }
  return queues;
}

function append(queues: Map<string, string[]>, key: string, item: string): void {
  const queue = queues.get(key);
  if (queue === undefined) queues.set(key, [item]);
  else queue.push(item);
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index]);
}
