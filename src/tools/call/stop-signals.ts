import { inject, injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import { EventFeed } from '../../events/event-feed.js';
import { givenUp } from '../tool-errors.js';

/** A signal for as long as somebody looks at it. */
export interface StopSignal extends Disposable {
  readonly signal: AbortSignal;
}

/** Tells calls when their process is stopped, ends or gets another program. */
@injectable()
export class StopSignals {
  constructor(@inject(EventFeed) private readonly feed: EventFeed) {}

  /** A run knows it itself. */
  of(pid: Pid, tool: string, run: AbortSignal | undefined): StopSignal {
    if (run !== undefined) return { signal: run, [Symbol.dispose]: () => undefined };
    const controller = new AbortController();
    const subscription = this.feed.subscribe((events) => {
      if (events.some((event) => event.pid === pid && stops.has(event.type))) controller.abort(givenUp(tool, pid));
    });
    return { signal: controller.signal, [Symbol.dispose]: () => subscription[Symbol.dispose]() };
  }
}

const stops: ReadonlySet<string> = new Set(['process.stopping', 'process.exited', 'process.execed']);
