import { inject, injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import { Listeners } from '../../base/listeners.js';
import { EventFeed } from '../../events/event-feed.js';
import type { TurnPart } from './agent-part.js';

/** The group that was committed last: live parts follow it. */
export interface TurnPosition {
  readonly seq: number;
  readonly turn: number;
}

/** Of a turn that says more, the rest is only in the store. */
const charsMax = 4_194_304;

/** The parts that the body of a process has published since its last commit, in this program's memory. */
export class LiveTurn {
  /** Adjacent pieces of one text, and of the arguments of one call, are joined. */
  readonly parts: TurnPart[] = [];
  private chars = 0;

  /** `after` is set once it is known. */
  constructor(public after: TurnPosition | undefined) {}

  add(part: TurnPart): void {
    this.chars += charsOf(part);
    if (this.chars > charsMax) return;
    const last = this.parts.at(-1);
    const joined = last === undefined ? undefined : join(last, part);
    if (joined === undefined) this.parts.push(part);
    else this.parts[this.parts.length - 1] = joined;
  }
}

/** The turns under way of the processes that this program runs. */
@injectable()
export class LiveTurns {
  private readonly turns = new Map<Pid, LiveTurn>();
  private readonly listeners = new Map<Pid, Listeners>();

  constructor(@inject(EventFeed) feed: EventFeed) {
    feed.subscribe('liveTurns', { 'process.exited': ({ pid = '' }) => void this.turns.delete(pid) });
  }

  find(pid: Pid): LiveTurn | undefined {
    return this.turns.get(pid);
  }

  /** Puts a turn in the place of the one before; undefined: everything is committed. */
  set(pid: Pid, turn: LiveTurn | undefined): void {
    if (turn === undefined) this.turns.delete(pid);
    else this.turns.set(pid, turn);
    this.notify(pid);
  }

  notify(pid: Pid): void {
    this.listeners.get(pid)?.notify();
  }

  /** Calls `listener` after each change of the turn under way of a process. */
  watch(pid: Pid, listener: () => void): Disposable {
    const listeners = this.listeners.get(pid) ?? new Listeners();
    this.listeners.set(pid, listeners);
    const added = listeners.add(listener);
    return {
      [Symbol.dispose]: () => {
        added[Symbol.dispose]();
        if (listeners.size === 0) this.listeners.delete(pid);
      },
    };
  }
}

function join(last: TurnPart, next: TurnPart): TurnPart | undefined {
  if ((last.type === 'text' || last.type === 'reasoning') && next.type === last.type)
    return { ...last, text: last.text + next.text };
  if (last.type !== 'tool-call' || next.type !== 'tool-call' || last.id !== next.id) return undefined;
  if (last.delta === undefined || next.delta === undefined) return undefined;
  return { ...last, delta: last.delta + next.delta };
}

function charsOf(part: TurnPart): number {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return part.text.length;
    case 'tool-call':
      return part.delta?.length ?? JSON.stringify(part.args ?? null).length;
    case 'tool-result':
      return JSON.stringify(part.result).length;
    default:
      return 0;
  }
}
