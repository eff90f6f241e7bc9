import { Deferred } from '../../base/deferred.js';
import type { Pid } from '../../base/ids.js';
import { timerMsMax } from '../../base/spec.js';

/** How long a caller is willing to wait. */
export interface WaitLimits {
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Collects what has rung while nobody listened; time and the caller's signal ring too. */
export class Notifier {
  expired: boolean;
  private pids: Set<Pid> | undefined;
  private woken = new Deferred();
  private readonly timer: NodeJS.Timeout | undefined;

  constructor(private readonly limits: WaitLimits) {
    const { timeoutMs, signal } = limits;
    this.expired = timeoutMs === 0;
    this.timer = timeoutMs === undefined ? undefined : setTimeout(this.expire, Math.min(timeoutMs, timerMsMax));
    signal?.addEventListener('abort', this.rouse);
  }

  notify(pid: Pid): void {
    this.pids ??= new Set();
    this.pids.add(pid);
    this.rouse();
  }

  /** Those that have rung since it was last asked; none where it was time or the signal. */
  async next(): Promise<ReadonlySet<Pid>> {
    await this.woken.promise;
    this.woken = new Deferred();
    const { pids = new Set() } = this;
    this.pids = undefined;
    return pids;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.timer);
    this.limits.signal?.removeEventListener('abort', this.rouse);
  }

  private readonly rouse = (): void => {
    this.woken.resolve();
  };

  private readonly expire = (): void => {
    this.expired = true;
    this.rouse();
  };
}
