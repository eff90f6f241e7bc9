import { inject, injectable } from 'inversify';
import { z } from 'zod';
import { Deferred } from '../../base/deferred.js';
import type { Pid, QuestionId } from '../../base/ids.js';
import { keepAlive } from '../../base/keep-alive.js';
import { Listeners } from '../../base/listeners.js';
import { onAbort } from '../../base/on-abort.js';
import { isAbortSignal, parseSpec } from '../../base/spec.js';
import { Store } from '../../base/store.js';
import { AgentTurnRepository, type AgentTurnRow } from '../../kernel/agent/agent-turn-repository.js';
import { isTerminal, type Outcome } from '../../kernel/process/process.js';
import { ProcessLookup } from '../../kernel/process/process-lookup.js';
import type { QuestionRecord } from '../../kernel/question/question.js';
import { QuestionRepository } from '../../kernel/question/question-repository.js';
import { parsePid } from '../../kernel/specs.js';
import { AgentWatch } from '../../kernel/waiting/process-watch.js';
import type { AgentPart, TurnPart } from './agent-part.js';
import { type LiveTurn, LiveTurns, type TurnPosition } from './live-turns.js';
import { ShownParts } from './shown-parts.js';

const streamOptions = z.strictObject({
  signal: z.custom<AbortSignal>(isAbortSignal, 'is not an AbortSignal').optional(),
});
const pageRows = 100;

/** What the store has after the parts that a reader has got. */
interface StoredNews {
  readonly groups: readonly AgentTurnRow[];
  readonly questions: readonly QuestionRecord[];
  /** Present once the process has ended. */
  readonly outcome: Outcome | undefined;
  readonly isComplete: boolean;
}

/** Reads the turns of agents: those that are committed from the store, and the turn under way from memory. */
@injectable()
export class AgentStreams {
  /** Told when the kernel is shut down. */
  private readonly closing = new Listeners();
  private isClosed = false;

  constructor(
    @inject(Store) private readonly store: Store,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(AgentTurnRepository) private readonly turns: AgentTurnRepository,
    @inject(QuestionRepository) private readonly questions: QuestionRepository,
    @inject(AgentWatch) private readonly watch: AgentWatch,
    @inject(LiveTurns) private readonly live: LiveTurns,
  ) {}

  /** Each part once, in order, up to the end of the process. Throws NO_SUCH_PROCESS. */
  async *read(input: unknown, options: unknown = {}): AsyncGenerator<AgentPart> {
    const pid = parsePid(input);
    const { signal } = parseSpec(streamOptions, options, 'options', isAbortSignal);
    const news = new News();
    const isOver = () => this.isClosed || signal?.aborted === true;
    using _ended = onAbort(signal, () => news.notify());
    using _closing = this.closing.add(() => news.notify());
    using _alive = keepAlive();
    using _watch = this.watch.watch([pid], () => news.notifyStored());
    using _live = this.live.watch(pid, () => news.notify());
    const reader = new AgentReader();
    while (!isOver()) {
      if (news.takeStored()) {
        const stored = await this.load(pid, reader);
        if (!stored.isComplete) news.notifyStored();
        for (const part of reader.takeStored(stored)) {
          yield part;
          if (isOver()) return;
        }
        if (stored.outcome !== undefined && stored.isComplete) {
          yield { type: 'end', turn: reader.turn, outcome: stored.outcome };
          return;
        }
        continue;
      }
      let isNew = false;
      for (const part of reader.takeLive(this.live.find(pid))) {
        isNew = true;
        yield part;
        if (isOver()) return;
      }
      if (!isNew) await news.next();
    }
  }

  /** Ends all streams. */
  close(): void {
    this.isClosed = true;
    this.closing.notify();
  }

  private load(pid: Pid, { seq, question }: AgentReader): Promise<StoredNews> {
    return this.store.read(async (tx) => {
      const { n, status, outcome } = await this.lookup.get(tx, pid);
      const groups = await this.turns.page(tx, n, seq, pageRows);
      const asked = await this.questions.ofProcess(tx, n);
      return {
        groups,
        questions: asked.filter(({ id }) => id > question),
        outcome: isTerminal(status) ? (outcome ?? { kind: 'abandoned' }) : undefined,
        isComplete: groups.length < pageRows,
      };
    });
  }
}

/** The place of one reader in the turns of a process. */
class AgentReader {
  seq = 0;
  turn = 0;
  /** The id of the newest question that was told. */
  question: QuestionId = '';
  private readonly shown = new ShownParts();

  *takeStored({ groups, questions, isComplete }: StoredNews): Generator<AgentPart> {
    const waiting = [...questions];
    for (const { seq, turn, at, parts } of groups) {
      yield* this.takeQuestions(waiting, at);
      this.seq = seq;
      this.turn = turn;
      for (const part of this.shown.remainderOf(parts as readonly object[] as readonly TurnPart[]))
        yield { ...part, turn };
    }
    if (isComplete) yield* this.takeQuestions(waiting, Number.POSITIVE_INFINITY);
  }

  /** Of a live turn that follows another group than the last one that was read, nothing: the store is ahead of it, or behind. */
  *takeLive(live: LiveTurn | undefined): Generator<AgentPart> {
    if (live === undefined || live.after?.seq !== this.seq) return;
    const turn = turnOf(live, live.after);
    for (const part of this.shown.next(live)) yield { ...part, turn };
  }

  private *takeQuestions(waiting: QuestionRecord[], until: number): Generator<AgentPart> {
    for (let next = waiting[0]; next !== undefined && next.createdAt <= until; next = waiting[0]) {
      waiting.shift();
      const { id, question, choices, schema } = next;
      this.question = id;
      yield {
        type: 'question',
        turn: this.turn,
        id,
        question,
        ...(choices === null ? {} : { choices }),
        ...(schema === null ? {} : { schema }),
      };
    }
  }
}

function turnOf({ parts }: LiveTurn, { turn }: TurnPosition): number {
  return parts[0]?.type === 'turn-start' ? turn + 1 : turn;
}

/** Tells a reader that there may be something new: in memory, or in the store, which it looks at first. */
class News {
  private isStored = true;
  private changed = new Deferred();

  notify(): void {
    this.changed.resolve();
  }

  notifyStored(): void {
    this.isStored = true;
    this.notify();
  }

  takeStored(): boolean {
    const isStored = this.isStored;
    this.isStored = false;
    return isStored;
  }

  async next(): Promise<void> {
    await this.changed.promise;
    this.changed = new Deferred();
  }
}
