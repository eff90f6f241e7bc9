import { injectable } from 'inversify';
import { KernelError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import type { ParsedTool } from '../tool-definition.js';
import { callCancelled } from '../tool-errors.js';

interface Queue {
  running: number;
  readonly waiting: (() => void)[];
}

/** Limits how many calls of a tool run at the same time on this node. The others wait in order of arrival. */
@injectable()
export class ToolConcurrency {
  private readonly queues = new Map<string, Queue>();

  /** Resolves with a slot, which is freed by disposing of it. Throws CANCELLED, or the KernelError that `signal` aborts with. */
  async acquire({ name, concurrency }: ParsedTool, pid: Pid, signal: AbortSignal): Promise<Disposable> {
    const reason = () => (signal.reason instanceof KernelError ? signal.reason : callCancelled(name, pid));
    if (signal.aborted) throw reason();
    if (concurrency === undefined) return { [Symbol.dispose]: () => undefined };
    const queue = this.queues.get(name) ?? { running: 0, waiting: [] };
    this.queues.set(name, queue);
    if (queue.running >= concurrency) await waitForSlot(queue, signal, reason);
    else queue.running++;
    return { [Symbol.dispose]: () => this.release(name, queue) };
  }

  /** Passes the slot on to the first call that waits. */
  private release(name: string, queue: Queue): void {
    const next = queue.waiting.shift();
    next?.();
    if (next === undefined && --queue.running === 0) this.queues.delete(name);
  }
}

function waitForSlot({ waiting }: Queue, signal: AbortSignal, reason: () => KernelError): Promise<void> {
  return new Promise((resolve, reject) => {
    const proceed = () => {
      signal.removeEventListener('abort', giveUp);
      resolve();
    };
    const giveUp = () => {
      waiting.splice(waiting.indexOf(proceed), 1);
      reject(reason());
    };
    waiting.push(proceed);
    signal.addEventListener('abort', giveUp, { once: true });
  });
}
