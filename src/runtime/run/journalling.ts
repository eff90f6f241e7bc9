import type { JsonValue } from '../../base/json.js';
import { amount, parseSpec } from '../../base/spec.js';
import type { ProcessFace } from '../../kernel/face/process-face.js';
import type { WaitOptions } from '../../kernel/face/process-specs.js';
import { type AnswerCodec, type BodyCalls, dataAnswer } from './body-calls.js';
import type { OpenCall } from './call-tree.js';
import type { ReplayJournal } from './replay-journal.js';
import type { Run } from './run.js';
import type { Sleeps } from './sleeps.js';

/** The parts of the runtime that a journalling needs. */
export interface JournallingDeps {
  readonly calls: BodyCalls;
  readonly journal: ReplayJournal;
  readonly sleeps: Sleeps;
}

/** One call of a body: its kind in the journal, its arguments, and a function that makes it through a face. */
export interface BodyCall<Args extends readonly unknown[], Result> {
  readonly run: Run;
  readonly kind: string;
  readonly args: Args;
  make(face: ProcessFace, args: Args): Promise<Result>;
}

/** A way to journal the calls of one syscall. */
export type Journalling<Args extends readonly unknown[], Result, Deps = JournallingDeps> = (
  deps: Deps,
  call: BodyCall<Args, Result>,
) => Promise<Result>;

/** The journalling of every method of a face: one that is missing does not compile. */
export type Journallings<Face, Deps = JournallingDeps> = {
  readonly [Name in keyof Face]: Face[Name] extends (...args: infer Args) => Promise<infer Result>
    ? Journalling<Args, Result, Deps>
    : never;
};

/** For reads: every run makes the call anew. */
export function live<Args extends readonly unknown[], Result>(): Journalling<Args, Result> {
  return ({ calls }, { run, args, make }) => calls.runLive(run, (face) => make(face, args));
}

/**
 * For effects: the answer is journalled in the commit of the effect, and later runs get it from there. `nameOf` gives the
 * name that tells calls of one kind apart in the journal.
 */
export function journalled<Args extends readonly unknown[], Result>(
  nameOf: (args: NoInfer<Args>) => string,
  codec: AnswerCodec<Result>,
): Journalling<Args, Result> {
  return ({ calls }, { run, kind, args, make }) =>
    calls.runJournalled(run, kind, nameOf(args), codec, (face) => make(face, args));
}

/** `journalled`, for an answer that is JSON. */
export function journalledData<Args extends readonly unknown[], Result>(
  nameOf: (args: NoInfer<Args>) => string,
): Journalling<Args, Result> {
  return journalled(nameOf, dataAnswer<Result>());
}

/** For reads whose answer is kept and for idempotent effects: it is journalled after the call, and a crash in between repeats it. */
export function journalledAfter<Args extends readonly unknown[], Result extends JsonValue | object>(
  nameOf: (args: NoInfer<Args>) => string,
): Journalling<Args, Result> {
  return ({ calls }, { run, kind, args, make }) =>
    calls.runThenJournal(run, kind, nameOf(args), (face) => make(face, args));
}

/**
 * `journalled`, for a call that waits: it waits for no longer than is left of a time limit that an earlier run may
 * have begun. `optionsAt` is the place of its options among the arguments.
 */
export function journalledWait<Args extends readonly unknown[], Result>(
  nameOf: (args: NoInfer<Args>) => string,
  codec: AnswerCodec<Result>,
  optionsAt: number,
): Journalling<Args, Result> {
  return (deps, { run, kind, args, make }) =>
    deps.calls.runJournalled(run, kind, nameOf(args), codec, (face, call) => {
      const options = args[optionsAt] as WaitOptions | undefined;
      // Without a time limit it goes on directly: thousands may wait, and each promise in between takes memory.
      if (options?.timeoutMs === undefined) return make(face, args);
      return remainingOptions(deps, run, call, options).then((rest) =>
        make(face, Object.assign([...args], { [optionsAt]: rest }) as readonly unknown[] as Args),
      );
    });
}

/** Names a call by its first argument, a pid or another id. */
export function firstArgument([first]: readonly unknown[]): string {
  return String(first);
}

/** The options of a wait with the rest of its time limit, which the first run that makes the call fixes. */
export async function remainingOptions<Options extends WaitOptions>(
  { journal, sleeps }: JournallingDeps,
  run: Run,
  call: OpenCall,
  options: Options | undefined,
): Promise<Options | undefined> {
  const timeoutMs = options?.timeoutMs;
  if (options === undefined || timeoutMs === undefined || timeoutMs === 0) return options;
  const dueAt = await journal.fixDueTime(run, call, parseSpec(amount, timeoutMs, 'options.timeoutMs'));
  return { ...options, timeoutMs: sleeps.remainingMs(dueAt) };
}
