import { inject, injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import type { KernelEvent } from '../../events/event.js';
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
    const stop = (event: KernelEvent) => {
      if (event.pid === pid) controller.abort(givenUp(tool, pid));
    };
    const handlers = { 'process.stopping': stop, 'process.exited': stop, 'process.execed': stop };
    const subscription = this.feed.subscribe('toolCalls', handlers);
    return { signal: controller.signal, [Symbol.dispose]: () => subscription[Symbol.dispose]() };
  }
}
