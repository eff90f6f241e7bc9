import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { injectable } from 'inversify';
import { KernelError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import { onAbort } from '../../base/on-abort.js';
import { graceMsDefault } from '../../kernel/lifecycle/process-ends.js';
import type { ParsedTool } from '../tool-definition.js';
import { callCancelled, nestedCall } from '../tool-errors.js';

interface Queue {
  running: number;
  readonly waiting: (() => void)[];
}

/** A call of a limited tool whose code is running, and the one that it was made in. */
interface Frame {
  readonly tool: string;
  readonly slot: ToolSlot;
  readonly outer: Frame | undefined;
}

/** The innermost call of a limited tool that the current code runs in. */
const frames = new AsyncLocalStorage<Frame>();

/** Limits how many calls of a tool run at the same time on this node. The others wait in order of arrival. */
@injectable()
export class ToolConcurrency {
  private readonly queues = new Map<string, Queue>();

  /**
   * Throws WAIT_CYCLE for a call that is made in the run of other calls of the same tool that hold all its slots: they would
   * wait for this one, and this one for them.
   */
  assertNotNested({ name, concurrency }: ParsedTool, pid: Pid): void {
    if (concurrency === undefined) return;
    const held = new Set<ToolSlot>();
    for (let frame = frames.getStore(); frame !== undefined; frame = frame.outer) {
      if (frame.tool === name && !frame.slot.isFree) held.add(frame.slot);
    }
    if (held.size >= concurrency) throw nestedCall(name, pid, concurrency);
  }

  /** Resolves with a slot, which is freed by disposing of it. Throws CANCELLED, or the KernelError that `signal` aborts with. */
  async acquire({ name, concurrency }: ParsedTool, pid: Pid, signal: AbortSignal): Promise<ToolSlot> {
    const reason = () => (signal.reason instanceof KernelError ? signal.reason : callCancelled(name, pid));
    if (signal.aborted) throw reason();
    if (concurrency === undefined) return unlimited;
    const queue = this.queues.get(name) ?? { running: 0, waiting: [] };
    this.queues.set(name, queue);
    if (queue.running >= concurrency) await waitForSlot(queue, signal, reason);
    else queue.running++;
    return new LimitedSlot(name, () => this.release(name, queue));
  }

  /** Passes the slot on to the first call that waits. */
  private release(name: string, queue: Queue): void {
    const next = queue.waiting.shift();
    next?.();
    if (next === undefined && --queue.running === 0) this.queues.delete(name);
  }
}

/** The place of one call among those of a tool that run at the same time. */
export interface ToolSlot extends Disposable {
  readonly isFree: boolean;
  /** Runs the code of the tool. Disposing frees the slot when that code has ended, and at the latest after a grace. */
  run<T>(code: () => Promise<T>): Promise<T>;
}

/** Of a tool without a limit. */
const unlimited: ToolSlot = { isFree: true, run: (code) => code(), [Symbol.dispose]: () => undefined };

class LimitedSlot implements ToolSlot {
  isFree = false;
  private work: Promise<unknown> | undefined;

  constructor(
    private readonly tool: string,
    private readonly release: () => void,
  ) {}

  run<T>(code: () => Promise<T>): Promise<T> {
    const work = frames.run({ tool: this.tool, slot: this, outer: frames.getStore() }, code);
    this.work = work.then(
      () => undefined,
      () => undefined,
    );
    return work;
  }

  [Symbol.dispose](): void {
    void this.free();
  }

  private async free(): Promise<void> {
    if (this.work !== undefined) {
      const settled = new AbortController();
      const grace = sleep(graceMsDefault, undefined, { ref: false, signal: settled.signal }).catch(() => undefined);
      await Promise.race([this.work, grace]);
      settled.abort();
    }
    this.isFree = true;
    this.release();
  }
}

function waitForSlot({ waiting }: Queue, signal: AbortSignal, reason: () => KernelError): Promise<void> {
  return new Promise((resolve, reject) => {
    const proceed = () => {
      listener[Symbol.dispose]();
      resolve();
    };
    waiting.push(proceed);
    const listener = onAbort(signal, () => {
      waiting.splice(waiting.indexOf(proceed), 1);
      reject(reason());
    });
  });
}
