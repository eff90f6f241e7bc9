import { inject, injectable } from 'inversify';
import type { JsonValue } from '../../base/json.js';
import { type ProcessFace } from '../../kernel/face/process-face.js';
import { ProcessFaces } from '../../kernel/face/process-faces.js';
import type { Message } from '../../kernel/message/message.js';
import { closedBody, openedBody } from '../../kernel/message/message-body.js';
import type { StoredMessage } from '../../kernel/message/message-repository.js';
import type { ProcessResult } from '../../kernel/process/process.js';
import { mintHandle, type ObjectHandle } from '../../memory/object/object-handle.js';
import type { ProcessCaller } from '../../unit/caller.js';
import type { OpenCall } from './call-tree.js';
import { revivedError } from './recorded-error.js';
import { isAnswer, ReplayJournal } from './replay-journal.js';
import type { Run } from './run.js';

/** How an answer is kept, and given to a body that is run again. */
export interface Codec<T> {
  /** Undefined: the unit has not given the answer. */
  encode(answer: unknown): JsonValue | undefined;
  revive(value: JsonValue, face: ProcessFace): Promise<T> | T;
}

/** Data. */
export function plain<T>(): Codec<T> {
  return { encode: (answer) => answer as JsonValue | undefined, revive: (value) => value as T };
}

/** That it was done. */
export const nothing: Codec<void> = { encode: () => true, revive: () => undefined };

/** A handle is checked whenever it is used, so that it can be made again as it was. */
export const handle: Codec<ObjectHandle> = {
  encode: (answer) => (answer as ObjectHandle).toJSON(),
  revive: (value) => {
    const { object, rights, capability } = value as { object: string; rights: string[]; capability: string };
    return mintHandle(object, rights, capability);
  },
};

/** Results of waits are kept as references: the child has them. */
export const result: Codec<ProcessResult> = {
  encode: (answer) => (answer as ProcessResult).pid,
  revive: (pid, face) => face.wait(pid as string),
};

export const results: Codec<ProcessResult[]> = {
  encode: (answer) => (answer as ProcessResult[]).map(({ pid }) => pid),
  revive: (pids, face) => face.waitAll(pids as string[]),
};

/** A message is kept apart from the handles that stand in it. */
export const message: Codec<Message> = {
  encode: (answer) => {
    const { id, from, at, kind, body } = answer as Message;
    return { id, from, at, kind, ...closedBody(body) } as object as JsonValue;
  },
  revive: (value) => {
    const { handles, ...stored } = value as object as StoredMessage;
    return { ...stored, body: openedBody({ body: stored.body, handles }) };
  },
};

type Live<T> = (face: ProcessFace, call: OpenCall, caller: ProcessCaller) => Promise<T>;

/** Makes the calls of bodies: each is answered once, and a run that comes later is answered the same. */
@injectable()
export class Calls {
  /** Which calls an error has come out of, so that a retry can drop its failures. */
  private readonly failures = new WeakMap<object, string[]>();

  constructor(
    @inject(ProcessFaces) private readonly faces: ProcessFaces,
    @inject(ReplayJournal) private readonly journal: ReplayJournal,
  ) {}

  /** A call that is made once, whichever run makes it: its answer is in the commit of its effect. */
  journalled<T>(run: Run, kind: string, name: string, codec: Codec<T>, live: Live<T>): Promise<T> {
    const make = (call: OpenCall) => {
      const leave = async (tx: Leave[0], act: Leave[1], answer: unknown) => {
        const value = codec.encode(answer);
        if (value !== undefined) await this.journal.done(tx, act, run, call, value);
      };
      const hooks = run.hooks(call, { leave });
      const caller = { face: 'process', pid: run.pid, run: hooks } as const;
      return live(this.faces.of(run.pid, hooks), call, caller);
    };
    return this.answered(run, kind, name, codec, make, (call, error) => this.journal.failed(run, call, error));
  }

  /** A call whose effect is the same when it is made twice: its answer is kept after it. */
  journalledAfter<T>(run: Run, kind: string, name: string, live: (face: ProcessFace) => Promise<T>): Promise<T> {
    const make = async (call: OpenCall) => {
      const answer = await live(this.faces.of(run.pid, run.hooks(call)));
      const value = answer as JsonValue;
      await this.journal.unit(run, call, 'call.end', (tx, act) => this.journal.done(tx, act, run, call, value));
      return answer;
    };
    return this.answered(run, kind, name, plain<T>(), make, (call, error) => this.journal.failed(run, call, error));
  }

  /** A call that every run makes anew. */
  live<T>(run: Run, live: (face: ProcessFace) => Promise<T>): Promise<T> {
    return this.made(run, live, (call) => run.goesOn(call));
  }

  /** The call by which a run ends itself: that is its outcome, also when its node shuts down. */
  last(run: Run, live: (face: ProcessFace) => Promise<void>): Promise<void> {
    return this.made(run, live, async () => undefined);
  }

  private async made<T>(
    run: Run,
    live: (face: ProcessFace) => Promise<T>,
    ready: (call: OpenCall) => Promise<void>,
  ): Promise<T> {
    const call = run.beginUnkept();
    try {
      await ready(call);
      return await live(this.faces.of(run.pid, run.hooks(call)));
    } finally {
      run.finish(call);
    }
  }

  /** Answers from the journal, or with what `make` gives; `note` writes a failure of `make` down. */
  async answered<T>(
    run: Run,
    kind: string,
    name: string,
    codec: Codec<T>,
    make: (call: OpenCall) => Promise<T>,
    note?: (call: OpenCall, error: unknown) => Promise<void>,
  ): Promise<T> {
    const call = run.begin(kind, name);
    let isMade = false;
    try {
      const earlier = await run.replayed(call, async ({ status, value }) => {
        if (status === 'failed') throw this.attributed(revivedError(value), call);
        return codec.revive(value, this.faces.of(run.pid, run.hooks(call)));
      });
      if (earlier !== undefined) return earlier.answer;
      isMade = true;
      return await make(call);
    } catch (error) {
      if (!isMade || note === undefined) throw error;
      if (isAnswer(run, error)) await note(call, error);
      throw this.attributed(error, call);
    } finally {
      run.finish(call);
    }
  }

  /** The keys of the calls that `error` has come out of, by whatever it was wrapped in. */
  causesOf(error: unknown): string[] {
    const keys: string[] = [];
    for (let at = error, depth = 0; typeof at === 'object' && at !== null && depth < 16; depth++) {
      keys.push(...(this.failures.get(at) ?? []));
      at = (at as Error).cause;
    }
    return keys;
  }

  /** Remembers that the error came out of this call. */
  attributed<T>(error: T, { key }: OpenCall): T {
    if (typeof error === 'object' && error !== null)
      this.failures.set(error, [...(this.failures.get(error) ?? []), key]);
    return error;
  }
}

type Leave = Parameters<NonNullable<Parameters<Run['hooks']>[1]>['leave'] & {}>;
