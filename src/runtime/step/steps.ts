import { inject, injectable } from 'inversify';
import { z } from 'zod';
import { Entropy } from '../../base/entropy.js';
import { invalidInput, ProcessError } from '../../base/errors.js';
import type { JsonValue } from '../../base/json.js';
import { copyPlain, payloadLimits } from '../../base/plain.js';
import { label, parseSpec, timeLimitMs } from '../../base/spec.js';
import type { Effect } from '../../kernel/face/process-tools.js';
import type { OpenCall } from '../run/call-tree.js';
import { Calls, type Codec } from '../run/calls.js';
import { isAnswer, ReplayJournal, stepOutcomeUnknown } from '../run/replay-journal.js';
import type { Run } from '../run/run.js';
import { Sleeps } from '../run/sleeps.js';
import { isPermanent, type RetryPolicy, retryDelay, retryPolicy } from './retry.js';

export interface StepOptions {
  readonly retry?: RetryPolicy | undefined;
  /** A step that takes longer fails with STEP_TIMEOUT. */
  readonly timeoutMs?: number | undefined;
  /**
   * What a crash in the middle of it means: a `pure` or `idempotent` step (the default) is run again, one that may
   * happen only `once` is OUTCOME_UNKNOWN, and the body decides.
   */
  readonly effect?: Effect | undefined;
}

export const stepOptions = z.strictObject({
  retry: retryPolicy.optional(),
  timeoutMs: timeLimitMs.optional(),
  effect: z.enum(['pure', 'idempotent', 'once']).default('idempotent'),
});
type ParsedOptions = z.output<typeof stepOptions>;

interface Step {
  readonly run: Run;
  readonly call: OpenCall;
  readonly name: string;
  readonly work: () => unknown;
  readonly options: ParsedOptions;
}

/** The answer of a step as it is kept: nothing at all is told from null. */
const stepAnswer: Codec<unknown> = {
  encode: (value) => kept(value),
  revive: (value) => (value as { value?: JsonValue }).value,
};

/** Runs steps: one that is completed never runs again. */
@injectable()
export class Steps {
  constructor(
    @inject(Calls) private readonly calls: Calls,
    @inject(ReplayJournal) private readonly journal: ReplayJournal,
    @inject(Sleeps) private readonly sleeps: Sleeps,
    @inject(Entropy) private readonly entropy: Entropy,
  ) {}

  /** Throws what the step throws, STEP_TIMEOUT, OUTCOME_UNKNOWN, INVALID_INPUT for a result that is not JSON. */
  async run(run: Run, given: string, work: () => unknown, rest: StepOptions = {}): Promise<unknown> {
    const name = parseSpec(label, given, 'name');
    const options = parseOptions(rest);
    return this.calls.answered(run, 'step', name, stepAnswer, (call) =>
      this.attempts({ run, call, name, work, options }),
    );
  }

  private async attempts(step: Step): Promise<unknown> {
    const { run, call, name, options } = step;
    const begun = run.replay.begun(call);
    if (begun?.status === 'started' && options.effect === 'once')
      return this.fail(step, begun.attempt, stepOutcomeUnknown(name));
    let due = begun?.status === 'backoff' ? (begun.dueAt ?? undefined) : undefined;
    for (let attempt = begun?.attempt ?? 1; ; attempt++) {
      if (due !== undefined) await this.sleeps.until(run, call, due);
      await this.journal.stepStarted(run, call, name, attempt);
      try {
        const value = toJson(await this.worked(step));
        await this.journal.stepDone(run, call, name, attempt, kept(value));
        return value;
      } catch (error) {
        if (!isAnswer(run, error)) throw error;
        due = await this.backedOff(step, attempt, error);
      }
    }
  }

  /** When the step is tried again. Throws the failure of the last attempt. */
  private async backedOff(step: Step, attempt: number, error: unknown): Promise<number | undefined> {
    const { run, call, name, options } = step;
    const chance = () => this.entropy.bytes(1).readUInt8() / 256;
    const inMs = isPermanent(options.retry, error) ? undefined : retryDelay(options.retry, attempt, chance);
    if (inMs === undefined) return this.fail(step, attempt, error);
    const drop = this.calls.causesOf(error);
    return this.journal.stepFailed(run, call, { name, attempt }, error, { inMs, drop });
  }

  private async fail({ run, call, name }: Step, attempt: number, error: unknown): Promise<never> {
    await this.journal.stepFailed(run, call, { name, attempt }, error);
    throw this.calls.attributed(error, call);
  }

  private async worked({ run, call, name, work, options }: Step): Promise<unknown> {
    const working = (async () => run.within(call, work))();
    const { timeoutMs } = options;
    if (timeoutMs === undefined) return working;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(stepTimeout(name, timeoutMs)), timeoutMs);
    });
    return Promise.race([working, late]).finally(() => clearTimeout(timer));
  }
}

function parseOptions(given: unknown): ParsedOptions {
  const parsed = stepOptions.safeParse(given);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const path = ['options', ...(issue?.path ?? [])].join('.');
  throw invalidInput(path, issue?.message ?? 'not valid', 'See StepOptions in the API reference.');
}

function kept(value: unknown): JsonValue {
  return value === undefined ? {} : { value: value as JsonValue };
}

/** What a step gives back has to be what a rerun will be given. */
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
