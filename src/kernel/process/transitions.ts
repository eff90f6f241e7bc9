import { ProcessError } from '../../base/errors.js';
import { beginningStatusOf, isTerminal, type ProcessRow, type ProcessStatus } from './process.js';

/** The events that change the status of a process, with what they are: the one list, from which docs/tables.md is generated. */
export const processEventDescriptions = {
  start: 'A node starts the body, or the command or external job begins.',
  block: 'The body waits.',
  wake: 'What it waited for has come.',
  pause: 'It is paused.',
  resume: 'It is resumed.',
  exec: 'It gets another image.',
  release: 'Its node gives it up.',
  backoff: 'Its body failed and is run again after a delay.',
  park: 'It waits for code that can replay its journal.',
  renew: 'Its body begins anew, with a state and an empty journal.',
  stop: 'It is cancelled, its time or budget is over, or its parent has ended.',
  exit: 'It ends with a result.',
  fail: 'It ends with an error.',
  end: 'The grace of a stop is over.',
  kill: 'It is killed.',
  abandon: 'Nobody will know what became of its work.',
} as const;

export type ProcessEvent = keyof typeof processEventDescriptions;

export const processEvents = Object.keys(processEventDescriptions) as readonly ProcessEvent[];

/** What each status means: the one list, from which docs/tables.md is generated. */
export const statusDescriptions: Readonly<Record<ProcessStatus, string>> = {
  created: 'A command or external job that has not been started.',
  runnable: 'Waits for a node that runs its body.',
  running: 'Its body, command or external job runs.',
  waiting: 'Waits for a child, a message, a signal, an approval, a timer, or code that can replay its journal.',
  paused: 'Does nothing until it is resumed.',
  stopping: 'Is being stopped, and has until the end of its grace to end by itself.',
  exited: 'Ended with a result.',
  failed: 'Ended with an error.',
  killed: 'Was ended: killed, or stopped without ending by itself in its grace.',
  abandoned: 'Nobody knows what became of its work.',
};

/**
 * `@run`: running if a node has the process, else runnable. `@previous`: the status before it was paused. `@begin`: the
 * status in which a process of its kind begins, runnable or created.
 */
type Target = ProcessStatus | '@run' | '@previous' | '@begin';
export type TransitionTable = Record<ProcessStatus, Partial<Record<ProcessEvent, Target>>>;

const ends = { exit: 'exited', fail: 'failed', kill: 'killed', abandon: 'abandoned' } as const;
/** Transitions of the statuses in which a process has not begun, or is to be run again. */
const unstarted = { start: 'running', pause: 'paused', exec: '@begin', stop: 'stopping' } as const;
/** Transitions of the statuses in which a node may have the process. */
const run = {
  pause: 'paused',
  exec: '@begin',
  release: 'runnable',
  backoff: 'waiting',
  park: 'waiting',
  stop: 'stopping',
  ...ends,
} as const;

/**
 * Every change of state there is. `stop` is cancel, deadline, budget and the parent's end; `end` is the grace's end; `park`
 * gives a process up to code that can replay its journal.
 */
export const transitions = {
  created: { ...unstarted, ...ends },
  runnable: { ...unstarted, ...ends },
  running: { block: 'waiting', renew: 'runnable', ...run },
  waiting: { wake: '@run', ...run },
  paused: {
    wake: 'paused',
    resume: '@previous',
    exec: 'paused',
    release: 'paused',
    park: 'paused',
    stop: 'stopping',
    ...ends,
  },
  stopping: { end: 'killed', ...ends },
  exited: {},
  failed: {},
  killed: {},
  abandoned: {},
} as const satisfies TransitionTable;

/** Columns of a process whose body begins. */
const begun = { attempt: 1, recoveries: 0, failedBuilds: null, wait: null, node: null } as const;

/** Throws as `nextState` does, without making the next row. */
export function assertTransition(row: ProcessRow, event: ProcessEvent): void {
  targetOf(row, event);
}

/**
 * The row after `event`. Knows nothing of storage, time or callers. For `exec`, `row` has the kind of its new image.
 * Throws PROCESS_TERMINATED for an ended process, INVALID_TRANSITION for a pair that is not in the table.
 */
export function nextState(row: ProcessRow, event: ProcessEvent): ProcessRow {
  const after = statusAfter(row, event, targetOf(row, event));
  const pausedBy = after.status === 'paused' ? row.pausedBy : null;
  const next = { ...row, ...after, pausedBy, version: row.version + 1 };
  switch (event) {
    case 'exec':
      return { ...next, ...begun, generation: row.generation + 1, fence: row.fence + 1 };
    case 'renew':
      return { ...next, ...begun, fence: row.fence + 1 };
    case 'release':
    case 'backoff':
    case 'park':
      return { ...next, fence: row.fence + 1, wait: null, node: null };
    case 'wake':
      return { ...next, wait: null };
    case 'pause':
    case 'block':
      return { ...next, recoveries: 0 };
    default:
      return isTerminal(next.status) ? { ...next, fence: row.fence + 1, node: null, wait: null, alarmAt: null } : next;
  }
}

function targetOf(row: ProcessRow, event: ProcessEvent): Target {
  const target = (transitions as TransitionTable)[row.status][event];
  if (target === undefined) throw transitionRefused(row, event);
  return target;
}

function statusAfter(row: ProcessRow, event: ProcessEvent, target: Target): Pick<ProcessRow, 'status' | 'previous'> {
  const run = row.node === null ? 'runnable' : 'running';
  if (target === '@run') return { status: run, previous: null };
  if (target === '@begin') return { status: beginningStatusOf(row.kind), previous: null };
  if (target === '@previous') return { status: row.previous ?? beginningStatusOf(row.kind), previous: null };
  if (target !== 'paused') return { status: target, previous: null };
  switch (event) {
    case 'pause':
      return { status: 'paused', previous: row.status };
    case 'exec':
      return { status: 'paused', previous: beginningStatusOf(row.kind) };
    case 'release':
      return { status: 'paused', previous: 'runnable' };
    case 'park':
      return { status: 'paused', previous: 'waiting' };
    default:
      return { status: 'paused', previous: row.previous === 'waiting' ? run : row.previous };
  }
}

function transitionRefused(row: ProcessRow, event: ProcessEvent): ProcessError {
  const facts = { pid: row.pid, status: row.status, event };
  if (isTerminal(row.status)) return processTerminated(row);
  return new ProcessError('INVALID_TRANSITION', `Process ${row.pid} is ${row.status}: ${impossible[event]}.`, {
    facts,
    hint:
      row.status === 'stopping'
        ? 'It is being stopped: processes.kill ends it at once, processes.result waits for its end.'
        : 'processes.get shows its status; pause, resume, exec, cancel, kill and exit are the calls that change it.',
  });
}

/** What a process in another status cannot do, for messages. */
const impossible: Readonly<Record<ProcessEvent, string>> = {
  start: 'it cannot be started',
  block: 'it cannot wait',
  wake: 'it cannot be woken',
  pause: 'it cannot be paused',
  resume: 'it cannot be resumed',
  exec: 'it cannot get another image',
  release: 'no node can give it up',
  backoff: 'it cannot be retried',
  park: 'it cannot wait for code',
  renew: 'its body cannot begin anew',
  stop: 'it cannot be cancelled',
  exit: 'it cannot exit',
  fail: 'it cannot fail',
  end: 'its grace cannot end',
  kill: 'it cannot be killed',
  abandon: 'it cannot be abandoned',
};

export function processTerminated(row: ProcessRow): ProcessError {
  return new ProcessError('PROCESS_TERMINATED', `Process ${row.pid} has ended (${row.status}).`, {
    facts: { pid: row.pid, status: row.status, outcome: row.outcome?.kind ?? null },
    hint: 'An ended process never changes again; spawn a new one.',
  });
}
