import { Deferred } from '../../base/deferred.js';
import { ProcessError } from '../../base/errors.js';
import type { JsonValue } from '../../base/json.js';
import { copyPlain, payloadLimits } from '../../base/spec.js';
import type { Usage } from '../budget/budget.js';
import { parse, settledUsageSpec } from '../specs.js';

/**
 * A call of an external tool that is allowed, paid for and on record, and whose work its caller does. One that is not settled
 * when its time is over, when its process is stopped or its node is lost has the outcome `unknown`.
 */
export interface OpenToolCall {
  /** The id of the effect, as events and audit records name it. */
  readonly id: string;
  /** Aborts when the process is stopped, the caller gives the call up, or the time is over. */
  readonly signal: AbortSignal;
  /**
   * The result of a call that an earlier run of the same body has settled: its work is not to be done again, and `settle`
   * answers with this value. Absent otherwise.
   */
  readonly settled?: { readonly value: JsonValue };
  /**
   * Records the result and charges `usage` besides the call itself; answers with the value as it is kept. Throws
   * INVALID_INPUT, after which the call is still open, CONFLICT for a call that was settled or failed before, and
   * TOOL_TIMEOUT, CANCELLED or PROCESS_TERMINATED for one that ended without its caller.
   */
  settle(value: JsonValue, usage?: Usage): Promise<JsonValue>;
  /** Records that the work failed. Throws CONFLICT, TOOL_TIMEOUT, CANCELLED, PROCESS_TERMINATED as `settle` does. */
  fail(error: unknown): Promise<void>;
}

/** The parts of an open call that the gate makes. */
type OpenedWork = Pick<OpenToolCall, 'id' | 'signal'>;

/** The work of an open call, as the gate sees it: it takes the place of the code of a tool. */
export interface ExternalWork {
  /** Begins when the intent is on record. Resolves or rejects when the caller settles the call or fails it. */
  run(opened: OpenedWork): Promise<JsonValue>;
  /** What the caller said that the work used. */
  usage(): Usage;
}

/** Makes a call through `start` and gives it to its caller as soon as its intent is on record. Throws as `start` does before. */
export async function openToolCall(start: (work: ExternalWork) => Promise<JsonValue>): Promise<OpenToolCall> {
  const work = new CallerWork();
  const finished = start(work);
  // After the call was opened, the error is for whoever settles it.
  finished.catch(() => undefined);
  const first = await Promise.race([work.opened, finished.then((value) => ({ value }))]);
  if ('value' in first) return settledCall(first.value);
  const finish = async (end: () => void): Promise<JsonValue> => {
    if (work.isEnded) throw alreadySettled(first.id);
    work.isEnded = true;
    end();
    return finished;
  };
  return Object.freeze<OpenToolCall>({
    id: first.id,
    signal: first.signal,
    settle: async (value, usage = {}) => {
      const copied = copyPlain(value, 'value', payloadLimits);
      const used = parse(settledUsageSpec, usage, 'usage') as Usage;
      return finish(() => work.settle(copied, used));
    },
    fail: async (error) => {
      const failure = error ?? new Error('no reason was given');
      await finish(() => work.fail(failure)).catch((recorded: unknown) => {
        if (recorded !== failure && (recorded as Error).cause !== failure) throw recorded;
      });
    },
  });
}

/** The work of one open call, which ends when its caller says so. */
class CallerWork implements ExternalWork {
  isEnded = false;
  private readonly begun = new Deferred<OpenedWork>();
  private used: Usage = {};
  private end: { resolve(value: JsonValue): void; reject(error: unknown): void } | undefined;

  /** Resolves when the intent is on record. */
  get opened(): Promise<OpenedWork> {
    return this.begun.promise;
  }

  run(opened: OpenedWork): Promise<JsonValue> {
    return new Promise((resolve, reject) => {
      this.end = { resolve, reject };
      this.begun.resolve(opened);
    });
  }

  usage(): Usage {
    return this.used;
  }

  settle(value: JsonValue, used: Usage): void {
    this.used = used;
    this.end?.resolve(value);
  }

  fail(error: unknown): void {
    this.end?.reject(error);
  }
}

/** A call that the journal answers. It has no effect of this run. */
function settledCall(value: JsonValue): OpenToolCall {
  const { signal } = new AbortController();
  return Object.freeze<OpenToolCall>({
    id: '',
    signal,
    settled: Object.freeze({ value }),
    settle: async () => value,
    fail: async () => {
      throw alreadySettled('');
    },
  });
}

function alreadySettled(id: string): ProcessError {
  return new ProcessError('CONFLICT', 'The open call was settled already.', {
    facts: { effect: id },
    hint: 'Settle or fail each open call once; see `settled` of a call in a body that is run again.',
  });
}
