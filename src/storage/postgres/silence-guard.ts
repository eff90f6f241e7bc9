import { performance } from 'node:perf_hooks';
import type { Client } from 'pg';

/**
 * Ends a connection whose server does not answer. A network that loses everything tells nobody: without this, a batch could wait
 * for its answer for as long as the operating system goes on sending it, which is a quarter of an hour.
 */
export class SilenceGuard {
  private unanswered = 0;
  /** When the server was asked while nothing else was unanswered, or when it answered last. */
  private since = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly client: Client,
    private readonly answerMs: number,
  ) {}

  sent(): void {
    if (this.unanswered++ === 0) this.since = performance.now();
    this.timer ??= this.look(this.answerMs);
  }

  answered(): void {
    this.unanswered--;
    this.since = performance.now();
  }

  /** One timer runs for all batches: most are answered long before it has ended, and it ends when nothing is unanswered. */
  private look(ms: number): NodeJS.Timeout {
    return setTimeout(() => {
      // After a program has stood still, an answer may be there that it has not read: that comes first.
      setImmediate(() => {
        this.timer = undefined;
        if (this.unanswered === 0) return;
        const leftMs = this.answerMs - (performance.now() - this.since);
        if (leftMs > 0) this.timer = this.look(Math.ceil(leftMs));
        else destroy(this.client, new Error('Connection terminated: the server does not answer'));
      });
    }, ms).unref();
  }
}

/** Ends the connection without waiting for the server: what was asked is rejected with the error. */
function destroy(client: Client, error: Error): void {
  (client as object as { connection: { stream: { destroy(error: Error): void } } }).connection.stream.destroy(error);
}
