import { inject, injectable } from 'inversify';
import { errorText } from '../../base/errors.js';
import { Logger } from '../../base/logger.js';
import { NodeIdentity } from '../../base/node-identity.js';
import { Store } from '../../base/store.js';
import { NodeRepository } from '../../kernel/node/node-repository.js';
import { NodeOffering } from './node-offering.js';

/** All changes within this time are one write. */
const updateDelayMs = 50;

/** Keeps what this node offers up to date in its row, after the lease was registered with what it offered then. */
@injectable()
export class OfferUpdates {
  private subscription: Disposable | undefined;
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> = Promise.resolve();

  constructor(
    @inject(Store) private readonly store: Store,
    @inject(NodeRepository) private readonly nodes: NodeRepository,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
    @inject(NodeOffering) private readonly offering: NodeOffering,
    @inject(Logger) private readonly logger: Logger,
  ) {}

  start(): void {
    this.subscription = this.offering.onChange(() => this.schedule());
  }

  async stop(): Promise<void> {
    this.subscription?.[Symbol.dispose]();
    clearTimeout(this.timer);
    await this.writing;
  }

  private schedule(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.writing = this.writing.then(() => this.write());
    }, updateDelayMs).unref();
  }

  private async write(): Promise<void> {
    try {
      await this.store.write((tx) => this.nodes.setOffers(tx, this.node.nodeId, this.offering.offers));
    } catch (error) {
      this.logger.error({ problem: errorText(error) }, 'what this node offers could not be written');
    }
  }
}
