import { inject, injectable } from 'inversify';
import type { JsonValue } from '../../base/json.js';
import { type ProcessFace } from '../../kernel/face/process-face.js';
import { ProcessFaces } from '../../kernel/face/process-faces.js';
import type { Message } from '../../kernel/message/message.js';
import { extractHandles, restoreHandles } from '../../kernel/message/message-body.js';
import type { StoredMessage } from '../../kernel/message/message-repository.js';
import type { ProcessResult } from '../../kernel/process/process.js';
import { isByRight } from '../../kernel/waiting/process-rights.js';
import { mintHandle, type ObjectHandle } from '../../memory/object/object.js';
import type { ProcessCaller, RunHooks } from '../../unit/caller.js';
import type { OpenCall } from './call-tree.js';
import { errorFromRecord } from './error-record.js';
import { isFailureOfCall, ReplayJournal } from './replay-journal.js';
import type { Run } from './run.js';

/** Converts the answer of a call into the value that is journalled, and back for a rerun. */
export interface AnswerCodec<T> {
  /** `answer` is what a write unit of the call returns; undefined when that is not the answer yet. */
  encode(answer: unknown): JsonValue | undefined;
  revive(value: JsonValue, face: ProcessFace): Promise<T> | T;
}

/** For answers that are JSON. */
export function dataAnswer<T>(): AnswerCodec<T> {
  return { encode: (answer) => answer as JsonValue | undefined, revive: (value) => value as T };
}

/** For calls that answer with nothing. */
export const noAnswer: AnswerCodec<void> = { encode: () => true, revive: () => undefined };

/** For handles. A revived handle gives no more than the capability does by then: it is checked whenever it is used. */
export const handleAnswer: AnswerCodec<ObjectHandle> = {
  encode: (answer) => (answer as ObjectHandle).toJSON(),
  revive: (value) => {
    const { object, rights, capability } = value as { object: string; rights: string[]; capability: string };
    return mintHandle(object, rights, capability);
  },
};

/**
 * For the result of a child, journalled as its pid: the result itself is stored with the child and does not change. A rerun
 * does not put it into the view again.
 */
export const resultAnswer: AnswerCodec<ProcessResult> = {
  encode: (answer) => encodeResult(answer as ProcessResult),
  revive: reviveResult,
};

/** A result that was collected by a right is journalled whole: the right may be gone when the body is run again. */
function encodeResult(result: ProcessResult): JsonValue {
  if (!isByRight(result)) return result.pid;
  const { result: handle, ...told } = result;
  return { ...told, ...(handle === undefined ? {} : { result: handle.toJSON() }) } as object as JsonValue;
}

async function reviveResult(value: JsonValue, face: ProcessFace): Promise<ProcessResult> {
  if (typeof value === 'string') return face.wait(value, { keep: false });
  const { result, ...told } = value as object as Omit<ProcessResult, 'result'> & { readonly result?: JsonValue };
  return { ...told, ...(result === undefined ? {} : { result: await handleAnswer.revive(result, face) }) };
}

/** For the results of several children. */
export const resultsAnswer: AnswerCodec<ProcessResult[]> = {
  encode: (answer) => (answer as ProcessResult[]).map(encodeResult),
  revive: async (values, face) => {
    const answers = values as readonly JsonValue[];
    if (answers.every((value) => typeof value === 'string')) return face.waitAll(answers, { keep: false });
    const results: ProcessResult[] = [];
    for (const value of answers) results.push(await reviveResult(value, face));
    return results;
  },
};

/** For messages. The handles in the body are stored beside it, and put back when it is revived. */
export const messageAnswer: AnswerCodec<Message> = {
  encode: (answer) => {
    if (answer === undefined) return undefined;
    const { id, from, at, kind, body } = answer as Message;
    return { id, from, at, kind, ...extractHandles(body) } as object as JsonValue;
  },
  revive: (value) => {
    const { handles, ...stored } = value as object as StoredMessage;
    return { ...stored, body: restoreHandles({ body: stored.body, handles }) };
  },
};

/** Makes a call now, through the face of the process or as its caller; both carry the hooks of the run. */
type LiveCall<T> = (face: ProcessFace, call: OpenCall, caller: ProcessCaller) => Promise<T>;

/** Makes the calls of bodies. A journalled call has its effect once, and every run gets the same answer. */
@injectable()
export class BodyCalls {
  /** The keys of the calls that an error was thrown by, so that a retry can drop their failures from the journal. */
  private readonly failedKeys = new WeakMap<object, string[]>();

  constructor(
    @inject(ProcessFaces) private readonly faces: ProcessFaces,
    @inject(ReplayJournal) private readonly journal: ReplayJournal,
  ) {}

  /** Makes a call whose answer is journalled in the commit of its effect: after a crash both are there or neither. */
  runJournalled<T>(run: Run, kind: string, name: string, codec: AnswerCodec<T>, live: LiveCall<T>): Promise<T> {
    const make = (call: OpenCall) => {
      const afterWrite: RunHooks['afterWrite'] = async (tx, act, answer) => {
        const value = codec.encode(answer);
        if (value !== undefined) await this.journal.recordAnswer(tx, act, run, call, value);
      };
      const hooks = run.hooksFor(call, { afterWrite });
      const caller = { face: 'process', pid: run.pid, run: hooks } as const;
      return live(this.faces.of(run.pid, hooks), call, caller);
    };
    return this.replayOrRun(run, kind, name, codec, make, (call, error) =>
      this.journal.recordFailure(run, call, error),
    );
  }

  /** Makes a call whose answer is journalled after its effect: a crash in between repeats it, so it must be idempotent. */
  runThenJournal<T>(run: Run, kind: string, name: string, live: (face: ProcessFace) => Promise<T>): Promise<T> {
    const make = async (call: OpenCall) => {
      const answer = await live(this.faces.of(run.pid, run.hooksFor(call)));
      const value = answer as JsonValue;
      await this.journal.commit(run, call, 'call.end', (tx, act) =>
        this.journal.recordAnswer(tx, act, run, call, value),
      );
      return answer;
    };
    return this.replayOrRun(run, kind, name, dataAnswer<T>(), make, (call, error) =>
      this.journal.recordFailure(run, call, error),
    );
  }

  /** Makes a call that has no entry in the journal: every run makes it anew. */
  runLive<T>(run: Run, live: (face: ProcessFace) => Promise<T>): Promise<T> {
    return this.runUnjournalled(run, live, (call) => run.admit(call));
  }

  /** Makes the call by which a run ends its own process. Unlike others it begins while the node shuts down too. */
  runLast(run: Run, live: (face: ProcessFace, caller: ProcessCaller) => Promise<void>): Promise<void> {
    return this.runUnjournalled(run, live, async () => undefined);
  }

  private async runUnjournalled<T>(
    run: Run,
    live: (face: ProcessFace, caller: ProcessCaller) => Promise<T>,
    admit: (call: OpenCall) => Promise<void>,
  ): Promise<T> {
    const call = run.beginLive();
    try {
      await admit(call);
      const hooks = run.hooksFor(call);
      return await live(this.faces.of(run.pid, hooks), { face: 'process', pid: run.pid, run: hooks });
    } finally {
      run.finish(call);
    }
  }

  /**
   * Answers from the journal, or with the answer of `make`, which journals it. `recordFailure` journals an error of `make`
   * that is the failure of the call; without it, `make` journals its failures itself. `onBegin` is told the call first.
   */
  async replayOrRun<T>(
    run: Run,
    kind: string,
    name: string,
    codec: AnswerCodec<T>,
    make: (call: OpenCall) => Promise<T>,
    recordFailure?: (call: OpenCall, error: unknown) => Promise<void>,
    onBegin?: (call: OpenCall) => void,
  ): Promise<T> {
    const call = run.beginJournalled(kind, name);
    onBegin?.(call);
    let isMade = false;
    try {
      const replayed = await run.replayAnswer(call, async ({ status, value }) => {
        if (status === 'failed') throw this.rememberFailure(errorFromRecord(value), call);
        return codec.revive(value, this.faces.of(run.pid, run.hooksFor(call)));
      });
      if (replayed !== undefined) return replayed.answer;
      isMade = true;
      return await make(call);
    } catch (error) {
      if (!isMade || recordFailure === undefined) throw error;
      if (isFailureOfCall(run, error)) await recordFailure(call, error);
      throw this.rememberFailure(error, call);
    } finally {
      run.finish(call);
    }
  }

  /** The keys of the calls that `error`, or one of its causes, was thrown by. */
  failedKeysOf(error: unknown): string[] {
    const keys: string[] = [];
    for (let cause = error, depth = 0; typeof cause === 'object' && cause !== null && depth < 16; depth++) {
      keys.push(...(this.failedKeys.get(cause) ?? []));
      cause = (cause as Error).cause;
    }
    return keys;
  }

  /** Remembers that `error` was thrown by this call, and gives it back. */
  rememberFailure<T>(error: T, { key }: OpenCall): T {
    if (typeof error === 'object' && error !== null)
      this.failedKeys.set(error, [...(this.failedKeys.get(error) ?? []), key]);
    return error;
  }
}
