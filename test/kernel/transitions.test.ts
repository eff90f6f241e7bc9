import { describe, expect, it } from 'vitest';
import { KernelError, type ProcessStatus } from '../../src/index.js';
import type { ProcessRow } from '../../src/kernel/process/process.js';
import { nextState, type ProcessEvent, processEvents } from '../../src/kernel/process/transitions.js';

const statuses: readonly ProcessStatus[] = [
  'created',
  'runnable',
  'running',
  'waiting',
  'paused',
  'stopping',
  'exited',
  'failed',
  'killed',
  'abandoned',
];
const terminal: readonly ProcessStatus[] = ['exited', 'failed', 'killed', 'abandoned'];

/** The table of the design, written a second time: event, then from → to. Every other pair is refused. */
const expected: Record<ProcessEvent, Partial<Record<ProcessStatus, ProcessStatus>>> = {
  start: { created: 'running', runnable: 'running' },
  block: { running: 'waiting' },
  wake: { waiting: 'running', paused: 'paused' },
  pause: { created: 'paused', runnable: 'paused', running: 'paused', waiting: 'paused' },
  resume: { paused: 'waiting' },
  exec: { created: 'runnable', runnable: 'runnable', running: 'runnable', waiting: 'runnable', paused: 'paused' },
  release: { running: 'runnable', waiting: 'runnable', paused: 'paused' },
  backoff: { running: 'waiting', waiting: 'waiting' },
  park: { running: 'waiting', waiting: 'waiting', paused: 'paused' },
  renew: { running: 'runnable' },
  stop: {
    created: 'stopping',
    runnable: 'stopping',
    running: 'stopping',
    waiting: 'stopping',
    paused: 'stopping',
  },
  exit: fromEveryLiveStatus('exited'),
  fail: fromEveryLiveStatus('failed'),
  end: { stopping: 'killed' },
  kill: fromEveryLiveStatus('killed'),
  abandon: fromEveryLiveStatus('abandoned'),
};

function fromEveryLiveStatus(to: ProcessStatus): Partial<Record<ProcessStatus, ProcessStatus>> {
  return { created: to, runnable: to, running: to, waiting: to, paused: to, stopping: to };
}

describe('the transition table', () => {
  for (const status of statuses) {
    for (const event of processEvents) {
      const to = expected[event][status];
      if (to !== undefined) {
        it(`${event} takes a ${status} process to ${to}`, () => {
          const next = nextState(rowIn(status), event);
          expect([next.status, next.version]).toEqual([to, 8]);
        });
      } else {
        const code = terminal.includes(status) ? 'PROCESS_TERMINATED' : 'INVALID_TRANSITION';
        it(`${event} of a ${status} process is refused with ${code}`, () => {
          const row = Object.freeze(rowIn(status));
          expect(refusalOf(() => nextState(row, event))).toBe(code);
        });
      }
    }
  }

  it('names every event once', () => {
    expect([...processEvents].sort()).toEqual(Object.keys(expected).sort());
  });
});

describe('what a transition does beside the status', () => {
  it('a wake makes a process runnable when no run holds it, and running when one does', () => {
    expect(nextState({ ...rowIn('waiting'), node: null }, 'wake')).toMatchObject({ status: 'runnable', wait: null });
    expect(nextState({ ...rowIn('waiting'), node: 'n_1' }, 'wake')).toMatchObject({ status: 'running', wait: null });
  });

  it('a pause keeps what it was and what it was waiting for, and a resume gives it back', () => {
    for (const status of ['created', 'runnable', 'running', 'waiting'] as const) {
      const row = rowIn(status);
      const paused = nextState(row, 'pause');
      expect(paused).toEqual({ ...row, status: 'paused', previous: status, version: 8 });
      expect(nextState(paused, 'resume')).toEqual({ ...row, version: 9 });
    }
  });

  it('a wake during a pause is not lost', () => {
    const paused = { ...rowIn('paused'), previous: 'waiting' as const };
    const held = nextState({ ...paused, node: 'n_1' }, 'wake');
    expect(held).toMatchObject({ status: 'paused', previous: 'running', wait: null });
    expect(nextState(held, 'resume')).toMatchObject({ status: 'running', previous: null });
    const free = nextState({ ...paused, node: null }, 'wake');
    expect(nextState(free, 'resume')).toMatchObject({ status: 'runnable', previous: null });
  });

  it('a renewal begins the same generation anew: fence up, first attempt, no run', () => {
    const { generation } = rowIn('running');
    expect(nextState(rowIn('running'), 'renew')).toMatchObject({
      status: 'runnable',
      generation,
      fence: 6,
      attempt: 1,
      node: null,
    });
  });

  it('exec begins a new generation: fence up, first attempt, no wait, no run', () => {
    for (const status of ['created', 'runnable', 'running', 'waiting'] as const) {
      expect(nextState(rowIn(status), 'exec')).toMatchObject({
        status: 'runnable',
        generation: 4,
        fence: 6,
        attempt: 1,
        recoveries: 0,
        wait: null,
        node: null,
        previous: null,
      });
    }
  });

  it('exec leads to the status in which the kind of the new image begins', () => {
    for (const [kind, status] of Object.entries({
      agent: 'runnable',
      steps: 'runnable',
      command: 'created',
    } as const)) {
      expect(nextState({ ...rowIn('running'), kind: kind as ProcessRow['kind'] }, 'exec').status).toBe(status);
    }
    expect(nextState({ ...rowIn('runnable'), kind: 'external' }, 'exec').status).toBe('created');
  });

  it('exec of a paused process leaves it paused by the same, with the beginning of the new image behind it', () => {
    const paused: ProcessRow = { ...rowIn('paused'), previous: 'waiting', pausedBy: 'host' };
    const next = nextState(paused, 'exec');
    expect(next).toMatchObject({ status: 'paused', previous: 'runnable', generation: 4, fence: 6, wait: null });
    expect(next.pausedBy).toBe('host');
    expect(nextState({ ...paused, kind: 'external' }, 'exec').previous).toBe('created');
  });

  it('whoever paused it is kept while it is paused and forgotten afterwards', () => {
    const paused: ProcessRow = { ...rowIn('paused'), pausedBy: 'p_parent' };
    for (const event of processEvents) {
      if (expected[event].paused === undefined) continue;
      const { status, pausedBy } = nextState(paused, event);
      expect([event, pausedBy]).toEqual([event, status === 'paused' ? 'p_parent' : null]);
    }
  });

  it('a refusal names calls of the API, and no transition', () => {
    const hints = statuses.flatMap((status) =>
      processEvents.flatMap((event) => {
        try {
          nextState(rowIn(status), event);
          return [];
        } catch (error) {
          return [(error as KernelError).hint];
        }
      }),
    );
    for (const hint of new Set(hints)) expect(hint).not.toMatch(/\b(wake|block|release|backoff|takes:|end,)\b/);
  });

  it('a release and a backoff fence the run out', () => {
    for (const event of ['release', 'backoff'] as const) {
      expect(nextState(rowIn('running'), event)).toMatchObject({ fence: 6, node: null, generation: 3, attempt: 2 });
    }
  });

  it('a release of a paused process leaves it paused, with runnable behind it', () => {
    for (const previous of ['running', 'waiting'] as const) {
      const next = nextState({ ...rowIn('paused'), previous }, 'release');
      expect(next).toMatchObject({ status: 'paused', previous: 'runnable', fence: 6, node: null, wait: null });
    }
  });

  it('every end fences the run out and leaves no node, wait or alarm', () => {
    const ends: [ProcessStatus, ProcessEvent][] = [
      ['running', 'exit'],
      ['waiting', 'fail'],
      ['stopping', 'end'],
      ['paused', 'kill'],
      ['created', 'abandon'],
    ];
    for (const [status, event] of ends) {
      expect(nextState(rowIn(status), event)).toMatchObject({
        fence: 6,
        node: null,
        wait: null,
        alarmAt: null,
        previous: null,
        generation: 3,
      });
    }
  });

  it('start, block, stop and pause leave fence, generation and attempt alone', () => {
    const steps: [ProcessStatus, ProcessEvent][] = [
      ['runnable', 'start'],
      ['running', 'block'],
      ['waiting', 'stop'],
      ['running', 'pause'],
    ];
    for (const [status, event] of steps) {
      expect(nextState(rowIn(status), event)).toMatchObject({ fence: 5, generation: 3, attempt: 2, node: 'n_1' });
    }
  });

  it('changes nothing of the row that it is given', () => {
    const row = rowIn('running');
    const copy = structuredClone(row);
    nextState(row, 'exec');
    expect(row).toEqual(copy);
  });
});

function refusalOf(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    if (error instanceof KernelError && error.hint !== '') return error.code;
    throw error;
  }
  return 'not refused';
}

function rowIn(status: ProcessStatus): ProcessRow {
  return {
    n: 1,
    pid: 'p_1',
    bornUnder: null,
    path: [],
    depth: 0,
    name: null,
    id: null,
    queue: null,
    externalRef: null,
    acknowledgesStop: null,
    failedBuilds: null,
    labels: null,
    owner: null,
    env: null,
    deadlineMs: null,
    onParentExit: 'cancel',
    onBudget: 'refuse',
    createdAt: 1,
    parent: null,
    root: 'p_1',
    kind: 'agent',
    image: 'worker@1',
    goal: 'o_1',
    view: 1,
    args: {},
    generation: 3,
    authoritySince: 1,
    recovery: 'rerun',
    retry: null,
    status,
    previous: status === 'paused' ? 'waiting' : null,
    pausedBy: null,
    version: 7,
    fence: 5,
    attempt: 2,
    recoveries: 0,
    node: 'n_1',
    wait: { kind: 'child', what: 'p_2', since: 1 },
    stop: null,
    outcome: null,
    message: null,
    result: null,
    startedAt: 1,
    updatedAt: 1,
    exitedAt: null,
    exitOrder: null,
    deadlineAt: 99,
    alarmAt: 99,
    cwd: '.',
    progress: null,
  };
}
