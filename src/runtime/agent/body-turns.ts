import { inject, injectable } from 'inversify';
import { z } from 'zod';
import { invalidInput } from '../../base/errors.js';
import { canonicalJson, type JsonObject, type JsonValue, sha256Hex } from '../../base/json.js';
import { parseSpec, specLimits } from '../../base/spec.js';
import { type ReadTx, Store, type WriteTx } from '../../base/store.js';
import { AgentMessageRepository } from '../../kernel/agent/agent-message-repository.js';
import { AgentTurnRepository } from '../../kernel/agent/agent-turn-repository.js';
import { Accounts } from '../../kernel/budget/accounts.js';
import { MessageRepository } from '../../kernel/message/message-repository.js';
import { ProcessRepository } from '../../kernel/process/process-repository.js';
import type { Act } from '../../unit/act.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { BodyCalls, dataAnswer, noAnswer } from '../run/body-calls.js';
import { ReplayJournal } from '../run/replay-journal.js';
import type { Run } from '../run/run.js';
import type { Reply, TurnPart } from './agent-part.js';
import { LiveTurn, LiveTurns, type TurnPosition } from './live-turns.js';
import { parsePart, parseParts, parseReply } from './turn-parts.js';

/** Options of a commit of parts. */
export interface CommitTurnOptions {
  /** The request of the turn. It goes into the audit log by its hash, or as `record` says. */
  readonly request?: JsonValue;
  /**
   * What the audit log keeps of the request and the parts: nothing, hashes (the default), or all of it, as a payload that can
   * be erased.
   */
  readonly record?: 'none' | 'hash' | 'full';
}

/** The turns of an agent, as its body tells them to those who read `kernel.agents.stream`. */
export interface AgentTurns {
  /**
   * Shows a part of the turn under way at once to readers in this program. Nothing is stored: what is to last is committed
   * after. `turn-start` begins the turn, or begins it anew. Throws INVALID_INPUT.
   */
  publish(part: TurnPart): void;
  /**
   * Commits parts, and answers with the number of their turn. A group that begins with `turn-start` begins a turn; others
   * belong to the turn before. A rerun does not commit them again. Readers that have seen what was published get only the
   * rest. Throws INVALID_INPUT.
   */
  commit(parts: readonly TurnPart[], options?: CommitTurnOptions): Promise<number>;
  /**
   * Ends the turns of an answer: it is the reply to every message of `kernel.agents.say` that the process has taken from its
   * mailbox and not answered yet. A rerun does not answer again. Throws INVALID_INPUT.
   */
  answer(reply: Reply): Promise<void>;
}

const commitOptions = z.strictObject({
  request: z.custom<JsonValue>().optional(),
  record: z.enum(['none', 'hash', 'full']).default('hash'),
});
type Recorded = z.output<typeof commitOptions>;

/** The state of one run: the group that it has committed last, once that is known, and the turn under way. */
interface RunTurns {
  after: TurnPosition | undefined;
  live: LiveTurn | undefined;
}

const nothingCommitted: TurnPosition = { seq: 0, turn: 0 };

/** Shows and commits the turns of bodies. */
@injectable()
export class BodyTurns {
  private readonly runs = new WeakMap<Run, RunTurns>();

  constructor(
    @inject(Store) private readonly store: Store,
    @inject(BodyCalls) private readonly calls: BodyCalls,
    @inject(ReplayJournal) private readonly journal: ReplayJournal,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(MessageRepository) private readonly mailboxes: MessageRepository,
    @inject(AgentTurnRepository) private readonly turns: AgentTurnRepository,
    @inject(AgentMessageRepository) private readonly messages: AgentMessageRepository,
    @inject(Accounts) private readonly accounts: Accounts,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(LiveTurns) private readonly live: LiveTurns,
  ) {}

  of(run: Run): AgentTurns {
    return Object.freeze({
      publish: (part: TurnPart) => this.publish(run, part),
      commit: async (parts: readonly TurnPart[], options?: CommitTurnOptions) => this.commit(run, parts, options),
      answer: async (reply: Reply) => this.answer(run, reply),
    });
  }

  private publish(run: Run, given: unknown): void {
    const part = parsePart(given);
    if (run.endReason !== undefined || run.isReplayOnly) return;
    const state = this.stateOf(run);
    // Of a turn that the journal has, every reader gets the parts from the store.
    if (state.after === undefined && !run.replay.isComplete) return;
    const begins = state.live === undefined || part.type === 'turn-start';
    if (begins) state.live = new LiveTurn(state.after);
    state.live?.add(part);
    if (begins) this.live.set(run.pid, state.live);
    else this.live.notify(run.pid);
    if (state.after === undefined && state.live !== undefined) void this.findPosition(run, state, state.live);
  }

  private async findPosition({ pid, row }: Run, state: RunTurns, live: LiveTurn): Promise<void> {
    const last = await this.store.read((tx) => this.turns.last(tx, row.n)).catch(() => undefined);
    if (state.live !== live) return;
    state.after ??= last ?? nothingCommitted;
    live.after = state.after;
    this.live.notify(pid);
  }

  private async commit(run: Run, given: unknown, rawOptions: unknown = {}): Promise<number> {
    const parts = parseParts(given);
    const options = parseSpec(commitOptions, rawOptions, 'options', undefined, specLimits);
    const position = await this.calls.replayOrRun(
      run,
      'turn',
      '',
      dataAnswer<JsonValue>(),
      (call) =>
        this.journal.commit(run, call, 'turn.commit', async (tx, act) => {
          const answer = await this.append(tx, act, run, parts, options);
          await this.journal.recordAnswer(tx, act, run, call, answer);
          return answer;
        }),
      (call, error) => this.journal.recordFailure(run, call, error),
    );
    const state = this.stateOf(run);
    state.after = position as object as TurnPosition;
    state.live = undefined;
    this.live.set(run.pid, undefined);
    return state.after.turn;
  }

  private async append(
    tx: WriteTx,
    act: Act,
    run: Run,
    parts: readonly TurnPart[],
    options: Recorded,
  ): Promise<JsonObject> {
    const { n } = run.row;
    const last = await this.turns.last(tx, n);
    const begins = parts[0]?.type === 'turn-start';
    if (last === undefined && !begins) throw noTurn();
    const { seq, turn } = last ?? nothingCommitted;
    const position = { seq: seq + 1, turn: turn + Number(begins) };
    const stored = parts as readonly object[] as readonly JsonObject[];
    await this.turns.insert(tx, { process: n, ...position, at: act.at, parts: stored });
    await this.countStored(tx, run, Buffer.byteLength(JSON.stringify(stored)));
    this.recorder.record(tx, act, run.row, {
      event: 'turn.committed',
      data: { ...position, parts: parts.length },
      action: 'turn.commit',
      ...recordOf({ ...position, parts: parts.length }, stored, options),
    });
    return position;
  }

  private async answer(run: Run, given: unknown): Promise<void> {
    const reply = parseReply(given);
    await this.calls.replayOrRun(
      run,
      'answer',
      '',
      noAnswer,
      (call) =>
        this.journal.commit(run, call, 'turn.answer', async (tx, act) => {
          const answered = await this.findTaken(tx, run);
          for (const { process, id } of answered)
            await this.messages.answer(tx, { process, id, reply: reply as object as JsonValue, answeredAt: act.at });
          await this.countStored(tx, run, answered.length * Buffer.byteLength(JSON.stringify(reply)));
          const facts = { messages: answered.length };
          this.recorder.record(tx, act, run.row, {
            event: 'turn.answered',
            data: facts,
            action: 'turn.answer',
            facts: { ...facts, replyHash: sha256Hex(canonicalJson(reply as object as JsonValue)) },
          });
          await this.journal.recordAnswer(tx, act, run, call, true);
        }),
      (call, error) => this.journal.recordFailure(run, call, error),
    );
  }

  /** Messages without a reply that are not in the mailbox any more. */
  private async findTaken(tx: ReadTx, run: Run) {
    const open = await this.messages.open(tx, run.row.n);
    if (open.length === 0) return [];
    const waiting = new Set(await this.mailboxes.waitingIds(tx, run.pid));
    return open.filter(({ message }) => !waiting.has(message));
  }

  /** What has been said is kept, also by a process with nothing left for it. */
  private async countStored(tx: WriteTx, { pid }: Run, bytes: number): Promise<void> {
    const row = await this.processes.find(tx, pid);
    if (row !== undefined && bytes > 0) await this.accounts.addStored(tx, row, bytes);
  }

  private stateOf(run: Run): RunTurns {
    const state = this.runs.get(run) ?? { after: undefined, live: undefined };
    this.runs.set(run, state);
    return state;
  }
}

function recordOf(
  position: JsonObject,
  parts: readonly JsonObject[],
  { request, record }: Recorded,
): { facts: JsonObject; payload?: JsonObject } {
  const usage = parts.find(({ type }) => type === 'turn-end')?.usage;
  const facts: JsonObject = { ...position, ...(usage === undefined ? {} : { usage }) };
  if (record === 'none') return { facts };
  const hashes: JsonObject = {
    partsHash: sha256Hex(canonicalJson(parts)),
    ...(request === undefined ? {} : { requestHash: sha256Hex(canonicalJson(request)) }),
  };
  if (record === 'hash') return { facts: { ...facts, ...hashes } };
  return { facts: { ...facts, ...hashes }, payload: { parts, ...(request === undefined ? {} : { request }) } };
}

function noTurn() {
  return invalidInput('parts.0', 'belongs to no turn', 'Begin a turn: turn-start is the first of its parts.');
}
