import type { JsonValue } from '../../base/json.js';
import { amount, parseSpec } from '../../base/spec.js';
import type { ProcessFace } from '../../kernel/face/process-face.js';
import type { WaitOptions } from '../../kernel/face/process-specs.js';
import { type AnswerCodec, type BodyCalls, dataAnswer } from './body-calls.js';
import type { OpenCall } from './call-tree.js';
import type { ReplayJournal } from './replay-journal.js';
import type { Run } from './run.js';
import type { Sleeps } from './sleeps.js';

/** The parts of the runtime that journalled calls are made with. */
export interface JournallingDeps {
  readonly calls: BodyCalls;
  readonly journal: ReplayJournal;
  readonly sleeps: Sleeps;
}

/** One call of a body: its kind in the journal, its arguments, and how it is made through the face of the process. */
export interface BodyCall<Args extends readonly unknown[], Result> {
  readonly run: Run;
  readonly kind: string;
  readonly args: Args;
  make(face: ProcessFace, args: Args): Promise<Result>;
}

/** How the calls of one syscall are journalled. */
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

/** Made anew by every run: for reads. */
export function live<Args extends readonly unknown[], Result>(): Journalling<Args, Result> {
  return ({ calls }, { run, args, make }) => calls.runLive(run, (face) => make(face, args));
}

/** Made once, whichever run makes it: the answer is in the commit of the effect. `nameOf` tells calls of a kind apart. */
export function journalled<Args extends readonly unknown[], Result>(
  nameOf: (args: NoInfer<Args>) => string,
  codec: AnswerCodec<Result>,
): Journalling<Args, Result> {
  return ({ calls }, { run, kind, args, make }) =>
    calls.runJournalled(run, kind, nameOf(args), codec, (face) => make(face, args));
}

/** As `journalled`, for an answer that is data. */
export function journalledData<Args extends readonly unknown[], Result>(
  nameOf: (args: NoInfer<Args>) => string,
): Journalling<Args, Result> {
  return journalled(nameOf, dataAnswer<Result>());
}

/** For an effect that is the same when it happens twice: the answer is journalled after it. */
export function journalledAfter<Args extends readonly unknown[], Result extends JsonValue | object>(
  nameOf: (args: NoInfer<Args>) => string,
): Journalling<Args, Result> {
  return ({ calls }, { run, kind, args, make }) =>
    calls.runThenJournal(run, kind, nameOf(args), (face) => make(face, args));
}

/**
 * As `journalled`, for a call that waits: it waits for no longer than is left of a time limit that an earlier run may
 * have begun. `optionsAt` is the place of its options among the arguments.
 */
export function journalledWait<Args extends readonly unknown[], Result>(
  nameOf: (args: NoInfer<Args>) => string,
  codec: AnswerCodec<Result>,
  optionsAt: number,
): Journalling<Args, Result> {
  return (deps, { run, kind, args, make }) =>
    deps.calls.runJournalled(run, kind, nameOf(args), codec, async (face, call) => {
      const options = await remainingOptions(deps, run, call, args[optionsAt] as WaitOptions | undefined);
      return make(face, Object.assign([...args], { [optionsAt]: options }) as readonly unknown[] as Args);
    });
}

/** Names a call by its first argument, a pid or another id. */
export function firstArgument([first]: readonly unknown[]): string {
  return String(first);
}

/** The options of a wait with what is left of its time limit. */
export async function remainingOptions<Options extends WaitOptions>(
  { journal, sleeps }: JournallingDeps,
  run: Run,
  call: OpenCall,
  given: Options | undefined,
): Promise<Options | undefined> {
  const timeoutMs = given?.timeoutMs;
  if (given === undefined || timeoutMs === undefined || timeoutMs === 0) return given;
  const due = await journal.fixDueTime(run, call, parseSpec(amount, timeoutMs, 'options.timeoutMs'));
  return { ...given, timeoutMs: sleeps.remainingMs(due) };
}
