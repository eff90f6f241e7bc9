import { inject, injectable } from 'inversify';
import { z } from 'zod';
import { docPages } from '../../base/doc-pages.js';
import { Entropy } from '../../base/entropy.js';
import { type InputError, invalidInput, ProcessError } from '../../base/errors.js';
import { isPromiseLike, issueError, promiseProblem } from '../../base/input-issue.js';
import type { JsonValue } from '../../base/json.js';
import { copyPlain, label, parseSpec, payloadLimits, timeLimitMs } from '../../base/spec.js';
import type { Effect } from '../../kernel/face/process-tools.js';
import { Timers } from '../../unit/timers.js';
import { type AnswerCodec, BodyCalls } from '../run/body-calls.js';
import type { OpenCall } from '../run/call-tree.js';
import { isFailureOfCall, ReplayJournal } from '../run/replay-journal.js';
import type { Run } from '../run/run.js';
import { stepOutcomeUnknown } from '../run/run-errors.js';
import { Sleeps } from '../run/sleeps.js';
import { isPermanent, type RetryPolicy, randomOf, retryAfterOf, retryDelayMs, retryPolicy } from './retry.js';

/** Options of a step. */
export interface StepOptions {
  /** When and how often a failed attempt is repeated; absent: never. */
  readonly retry?: RetryPolicy | undefined;
  /** A step that takes longer fails with STEP_TIMEOUT. */
  readonly timeoutMs?: number | undefined;
  /**
   * Decides what follows a crash in the middle of the step: a `pure` or `idempotent` one (the default) is run again, one
   * that may happen only `once` fails with OUTCOME_UNKNOWN, and the body decides.
   */
  readonly effect?: Effect | undefined;
  /** Whether it may begin while the process is being stopped, until its grace is over; default false: CANCELLED. */
  readonly cleanup?: boolean | undefined;
}

export const stepOptions = z.strictObject({
  retry: retryPolicy.optional(),
  timeoutMs: timeLimitMs.optional(),
  effect: z.enum(['pure', 'idempotent', 'once']).default('idempotent'),
  cleanup: z.boolean().default(false),
});
type ParsedOptions = z.output<typeof stepOptions>;

interface Step {
  readonly run: Run;
  readonly call: OpenCall;
  readonly name: string;
  readonly work: () => unknown;
  readonly options: ParsedOptions;
}

/** The journalled value keeps `undefined` apart from null. */
const stepAnswer: AnswerCodec<unknown> = {
  encode: (value) => toStoredValue(value),
  revive: (value) => (value as { value?: JsonValue }).value,
};

/** Runs steps. One that is completed never runs again; every attempt is journalled before it begins. */
@injectable()
export class Steps {
  constructor(
    @inject(BodyCalls) private readonly calls: BodyCalls,
    @inject(ReplayJournal) private readonly journal: ReplayJournal,
    @inject(Sleeps) private readonly sleeps: Sleeps,
    @inject(Timers) private readonly timers: Timers,
    @inject(Entropy) private readonly entropy: Entropy,
  ) {}

  /** Throws what the step throws, STEP_TIMEOUT, OUTCOME_UNKNOWN, CANCELLED while the process is being stopped, INVALID_INPUT for a result that is not JSON. */
  async run(run: Run, rawName: string, work: () => unknown, rawOptions: StepOptions = {}): Promise<unknown> {
    const name = parseSpec(label, rawName, 'name');
    const options = parseOptions(rawOptions);
    if (typeof work !== 'function') throw notAFunction(work);
    return this.calls.replayOrRun(run, 'step', name, stepAnswer, (call) =>
      this.runAttempts({ run, call, name, work, options }),
    );
  }

  private async runAttempts(step: Step): Promise<unknown> {
    const { run, call, name, options } = step;
    const earlier = run.replay.findUnanswered(call);
    if (earlier?.status === 'started' && options.effect === 'once')
      return this.fail(step, earlier.attempt, stepOutcomeUnknown(name));
    let retryAt = earlier?.status === 'backoff' ? (earlier.dueAt ?? undefined) : undefined;
    for (let attempt = earlier?.attempt ?? 1; ; attempt++) {
      if (retryAt !== undefined) await this.sleeps.sleepUntil(run, call, retryAt);
      await this.journal.recordStepStart(run, call, name, attempt, options.cleanup);
      try {
        const value = toJson(await this.runWork(step));
        await this.journal.recordStepCompletion(run, call, name, attempt, toStoredValue(value));
        return value;
      } catch (error) {
        if (!isFailureOfCall(run, error)) throw error;
        retryAt = await this.recordFailedAttempt(step, attempt, error);
      }
    }
  }

  /** Answers with the time of the next attempt. Throws `error` when there is none. */
  private async recordFailedAttempt(step: Step, attempt: number, error: unknown): Promise<number | undefined> {
    const { run, call, name, options } = step;
    const random = randomOf(this.entropy);
    const planned = isPermanent(options.retry, error) ? undefined : retryDelayMs(options.retry, attempt, random);
    if (planned === undefined) return this.fail(step, attempt, error);
    const delayMs = Math.max(planned, retryAfterOf(error));
    const droppedKeys = this.calls.failedKeysOf(error);
    return this.journal.recordStepFailure(run, call, { name, attempt }, error, { delayMs, droppedKeys });
  }

  private async fail({ run, call, name }: Step, attempt: number, error: unknown): Promise<never> {
    await this.journal.recordStepFailure(run, call, { name, attempt }, error);
    throw this.calls.rememberFailure(error, call);
  }

  private async runWork({ run, call, name, work, options }: Step): Promise<unknown> {
    const result = (async () => run.runAttempt(call, work))();
    const { timeoutMs } = options;
    if (timeoutMs === undefined) return result;
    let limit: Disposable | undefined;
    const timeout = new Promise<never>((_, reject) => {
      limit = this.timers.startLimit(timeoutMs, () => reject(stepTimeout(name, timeoutMs)));
    });
    return Promise.race([result, timeout]).finally(() => limit?.[Symbol.dispose]());
  }
}

function parseOptions(options: unknown): ParsedOptions {
  const parsed = stepOptions.safeParse(options);
  if (parsed.success) return parsed.data;
  throw issueError(stepOptions, options, 'options', parsed.error, docPages.stepOptions);
}

function notAFunction(work: unknown): InputError {
  const problem = isPromiseLike(work) ? promiseProblem : 'is not a function';
  return invalidInput('work', problem, 'Give a function that does the work of the step, such as () => fetchPage(url).');
}

function toStoredValue(value: unknown): JsonValue {
  return value === undefined ? {} : { value: value as JsonValue };
}

/** A copy as a rerun would get it: a result that is not JSON is refused at once. */
function toJson(value: unknown): unknown {
  return value === undefined ? undefined : copyPlain(value, 'result', payloadLimits);
}

function stepTimeout(step: string, timeoutMs: number): ProcessError {
  return new ProcessError('STEP_TIMEOUT', `The step ${JSON.stringify(step)} took longer than ${timeoutMs} ms.`, {
    facts: { step, timeoutMs },
    hint: 'Give it more time, or a retry policy; what it has begun may still go on.',
    retryable: true,
  });
}
