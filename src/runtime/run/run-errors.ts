import { ProcessError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';

/** `exit` and `exec` reject with it after their commit: the run is over, and whatever the body still does is refused. */
export class RunEnded extends ProcessError {
  constructor(pid: Pid) {
    super('RUN_ENDED', `This run of process ${pid} is over.`, {
      facts: { pid },
      hint: 'Let it pass: nothing is to be done after exit or exec.',
    });
  }
}

/** The fence of the process is not the one that the run was claimed with. */
export function leaseLost(pid: Pid, fence: number): ProcessError {
  return new ProcessError('LEASE_LOST', `This run does not hold process ${pid} any more.`, {
    facts: { pid, fence },
    hint: 'Another run has it, or somebody has ended it; nothing that this one does counts.',
  });
}

/** The process has ended, by its own run or by another caller. */
export function processOver(pid: Pid): ProcessError {
  return new ProcessError('PROCESS_TERMINATED', `Process ${pid} has ended.`, {
    facts: { pid },
    hint: 'Nothing that its body still does counts.',
  });
}

/** The process is stopping: calls that wait are rejected with it, and `ctx.signal` is aborted with it. */
export function processStopping(pid: Pid, reason: string): ProcessError {
  return new ProcessError('CANCELLED', `Process ${pid} is being stopped (${reason}).`, {
    facts: { pid, reason },
    hint: 'End soon: when the grace is over, the process is ended, and nothing that it does counts any more.',
  });
}

/** The kernel that runs the process shuts down. */
export function nodeShutdown(pid: Pid): ProcessError {
  return new ProcessError('SHUTDOWN', `The kernel that runs process ${pid} shuts down.`, {
    facts: { pid },
    hint: 'Let it pass: the process goes on where it was when a kernel that has its image is open.',
    retryable: true,
  });
}

/** A call was made from an attempt of a step that has ended or timed out. */
export function stepOver(key: string): ProcessError {
  return new ProcessError('STEP_OVER', 'The step that made this call is over.', {
    facts: { step: pathOf(key) },
    hint: 'Await every call that a step makes, and heed its time limit.',
  });
}

/** A step with the effect `once` was started by an earlier run and has no answer in the journal. */
export function stepOutcomeUnknown(name: string): ProcessError {
  return new ProcessError('OUTCOME_UNKNOWN', `Whether ${JSON.stringify(name)} has happened is not known.`, {
    facts: { step: name },
    hint: 'The program ended while it was under way, and it may happen only once: find out what happened, then decide.',
  });
}

/** A rerun does not make the calls that the journal has. `recorded` and `asked` are keys of calls. */
export function nonDeterministic(recorded: string, asked: string): ProcessError {
  const facts = { recorded: pathOf(recorded), asked: pathOf(asked) };
  return new ProcessError(
    'NON_DETERMINISTIC',
    `The body went another way than before: recorded is "${facts.recorded}", asked was "${facts.asked}".`,
    {
      facts,
      hint: 'A body makes the same calls in the same order when it is run again: put time, chance and input into steps, and ask ctx.patched where it has changed.',
    },
  );
}

/** The key of a call, for people: one line. */
export function pathOf(key: string): string {
  return key.replaceAll('\n', ' > ');
}
