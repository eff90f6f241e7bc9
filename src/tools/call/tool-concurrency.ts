import { injectable } from 'inversify';
import { KernelError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import type { ParsedTool } from '../tool-definition.js';
import { givenUp } from '../tool-errors.js';

interface Queue {
  underway: number;
  readonly waiting: (() => void)[];
}

/** How many calls of each tool are under way on this node: the others wait in the order in which they came. */
@injectable()
export class ToolConcurrency {
  private readonly queues = new Map<string, Queue>();

  /** Resolves with a place, given back when it is disposed of. Throws CANCELLED, or why else `signal` aborts before. */
  async take({ name, concurrency }: ParsedTool, pid: Pid, signal: AbortSignal): Promise<Disposable> {
    const reason = () => (signal.reason instanceof KernelError ? signal.reason : givenUp(name, pid));
    if (signal.aborted) throw reason();
    if (concurrency === undefined) return { [Symbol.dispose]: () => undefined };
    const queue = this.queues.get(name) ?? { underway: 0, waiting: [] };
    this.queues.set(name, queue);
    if (queue.underway >= concurrency) await turn(queue, signal, reason);
    else queue.underway++;
    return { [Symbol.dispose]: () => this.leave(name, queue) };
  }

  /** Who waits takes the place over. */
  private leave(name: string, queue: Queue): void {
    const next = queue.waiting.shift();
    next?.();
    if (next === undefined && --queue.underway === 0) this.queues.delete(name);
  }
}

function turn({ waiting }: Queue, signal: AbortSignal, reason: () => KernelError): Promise<void> {
  return new Promise((resolve, reject) => {
    const go = () => {
      signal.removeEventListener('abort', giveUp);
      resolve();
    };
    const giveUp = () => {
      waiting.splice(waiting.indexOf(go), 1);
      reject(reason());
    };
    waiting.push(go);
    signal.addEventListener('abort', giveUp, { once: true });
  });
}
