import { AsyncLocalStorage } from 'node:async_hooks';
import type { PartListener } from './model-attempt.js';
import type { ModelPart } from './model-call.js';

/** Parts that pass while the turn is not committed: a tool runs as soon as the SDK gets its `tool-call`. */
const passingTypes: ReadonlySet<string> = new Set([
  'stream-start',
  'response-metadata',
  'text-start',
  'text-delta',
  'text-end',
  'reasoning-start',
  'reasoning-delta',
  'reasoning-end',
  'tool-input-start',
  'tool-input-delta',
  'tool-input-end',
  'source',
  'raw',
]);

/**
 * The stream of one answer. Texts and reasoning pass as they come; tool calls and what follows them are held back until the
 * turn is committed. Parts are handed on in the asynchronous context of whoever asked for the stream, and not in that of the
 * step that reads the model: the tools that the SDK runs are no part of the step.
 */
export class PartOutlet implements PartListener {
  readonly stream: ReadableStream<ModelPart>;
  /** Resolves when the first part that says something passes. */
  readonly begun: Promise<void>;
  private held: ModelPart[] = [];
  /** Parts that say nothing yet. They pass with the first one that does, so that a failed attempt leaves no trace. */
  private silent: ModelPart[] = [];
  private isShown = false;
  private isCancelled = false;
  private controller: ReadableStreamDefaultController<ModelPart> | undefined;
  private tellBegun: () => void = () => undefined;
  private readonly inCallersContext = AsyncLocalStorage.snapshot();

  constructor() {
    this.begun = new Promise((resolve) => {
      this.tellBegun = resolve;
    });
    this.stream = new ReadableStream({
      start: (controller) => {
        this.controller = controller;
      },
      // The turn goes on: it is paid for, and a rerun gets its answer.
      cancel: () => {
        this.isCancelled = true;
      },
    });
  }

  get isFinal(): boolean {
    return this.isShown;
  }

  begin(): void {
    this.held = [];
    this.silent = [];
  }

  onPart(part: ModelPart): void {
    if (part.type === 'finish') return;
    if (this.held.length > 0 ? !part.type.startsWith('tool-input-') : !passes(part)) this.held.push(part);
    else if (this.isShown || says(part)) this.pass(part);
    else this.silent.push(part);
  }

  /** Ends the stream: after a turn that was read here with what was held back, otherwise with all of `parts`. */
  complete(parts: readonly ModelPart[], finish: ModelPart): void {
    const isRead = this.isShown || this.held.length > 0;
    if (!isRead) this.silent = [];
    for (const part of isRead ? [...this.held, finish] : parts) this.pass(part);
    this.close();
  }

  fail(error: unknown): void {
    this.pass({ type: 'error', error });
    this.close();
  }

  private pass(part: ModelPart): void {
    const { controller } = this;
    this.isShown = true;
    const parts = [...this.silent, part];
    this.silent = [];
    this.tellBegun();
    if (this.isCancelled || controller === undefined) return;
    this.inCallersContext(() => {
      for (const each of parts) controller.enqueue(each);
    });
  }

  private close(): void {
    if (!this.isCancelled) this.inCallersContext(() => this.controller?.close());
    this.isCancelled = true;
  }
}

/** What the provider itself runs has been run already. */
function passes(part: ModelPart): boolean {
  if (part.type === 'tool-call') return part.providerExecuted === true;
  return passingTypes.has(part.type) || part.type === 'tool-result';
}

function says(part: ModelPart): boolean {
  return part.type !== 'stream-start' && part.type !== 'response-metadata';
}
