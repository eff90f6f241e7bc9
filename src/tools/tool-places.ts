import { injectable } from 'inversify';
import type { ParsedTool } from './tool-definition.js';

interface Queue {
  underway: number;
  readonly waiting: (() => void)[];
}

/** How many calls of each tool are under way on this node: the others wait in the order in which they came. */
@injectable()
export class ToolPlaces {
  private readonly queues = new Map<string, Queue>();

  /** Resolves with a place, given back when it is disposed of. Rejects with the reason of `signal` when that aborts first. */
  async take({ name, concurrency }: ParsedTool, signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    if (concurrency === undefined) return { [Symbol.dispose]: () => undefined };
    const queue = this.queues.get(name) ?? { underway: 0, waiting: [] };
    this.queues.set(name, queue);
    if (queue.underway >= concurrency) await turn(queue, signal);
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

function turn({ waiting }: Queue, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const go = () => {
      signal.removeEventListener('abort', giveUp);
      resolve();
    };
    const giveUp = () => {
      waiting.splice(waiting.indexOf(go), 1);
      reject(signal.reason);
    };
    waiting.push(go);
    signal.addEventListener('abort', giveUp, { once: true });
  });
}
