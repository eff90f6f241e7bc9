import { inject, injectable } from 'inversify';
import { Listeners } from '../../base/listeners.js';
import { type Token, token } from '../../base/token.js';
import type { NodeOffers } from '../../kernel/node/node-repository.js';
import { missingTools } from '../../kernel/node/placement.js';
import type { Claimable } from '../../kernel/process/claim-repository.js';
import { type ProcessRow, queueOf } from '../../kernel/process/process.js';
import { buildOf } from '../image/image-build.js';
import { MemoryImageRegistry } from '../image/image-registry.js';
import { NodeSettings } from './node-settings.js';

/** The tools that are registered in this kernel. */
export interface RegisteredTools {
  names(): string[];
  /** Calls `listener` after a tool was registered or removed. */
  onChange(listener: () => void): Disposable;
}
export const RegisteredTools: Token<RegisteredTools> = token('RegisteredTools');

/** The queues of a node without an executor are none: it claims nothing. */
const nothing: NodeOffers = { images: {}, tools: [], queues: [] };

interface Offering {
  readonly offers: NodeOffers;
  /** The images with a body whose tools are all here, as `name@version`. */
  readonly runnable: ReadonlySet<string>;
}

/** What this node can run: the images whose tools it has, from its queues. */
@injectable()
export class NodeOffering {
  private readonly queues: ReadonlySet<string>;
  private readonly listeners = new Listeners();
  /** Undefined after a change. */
  private computed: Offering | undefined;
  private isNotifying = false;

  constructor(
    @inject(NodeSettings) private readonly settings: NodeSettings,
    @inject(MemoryImageRegistry) private readonly images: MemoryImageRegistry,
    @inject(RegisteredTools) private readonly tools: RegisteredTools,
  ) {
    this.queues = new Set(settings.queues);
    images.onRegister(() => this.onRegistration());
    tools.onChange(() => this.onRegistration());
  }

  /** As of now. */
  get offers(): NodeOffers {
    return this.settings.executor ? this.offering.offers : nothing;
  }

  /** The images and queues that the executor may claim from. */
  get claimable(): Claimable {
    return { images: [...this.offering.runnable], queues: this.settings.queues };
  }

  /** The commands that this node may start. */
  get claimableCommands(): Claimable {
    return { images: this.images.listCommands(), queues: this.settings.queues };
  }

  canRun(row: ProcessRow): boolean {
    return this.servesQueueOf(row) && this.offering.runnable.has(row.image);
  }

  servesQueueOf(row: ProcessRow): boolean {
    return this.queues.has(queueOf(row));
  }

  /** Calls `listener` after images or tools were registered or removed, once for all of one turn. */
  onChange(listener: () => void): Disposable {
    return this.listeners.add(listener);
  }

  private get offering(): Offering {
    this.computed ??= this.compute();
    return this.computed;
  }

  private compute(): Offering {
    const tools = this.tools.names();
    const names = new Set(tools);
    const images: Record<string, NodeOffers['images'][string]> = {};
    const runnable = new Set<string>();
    for (const [reference, image] of this.images.listPrograms()) {
      const table = image.tools ?? [];
      const conversation = image.conversation === true ? { conversation: true } : {};
      images[reference] = { build: buildOf(image), tools: table, ...conversation };
      if (image.command === undefined && missingTools(table, names).length === 0) runnable.add(reference);
    }
    return { offers: { images, tools, queues: this.settings.queues }, runnable };
  }

  private onRegistration(): void {
    this.computed = undefined;
    if (this.isNotifying) return;
    this.isNotifying = true;
    queueMicrotask(() => {
      this.isNotifying = false;
      this.listeners.notify();
    });
  }
}
