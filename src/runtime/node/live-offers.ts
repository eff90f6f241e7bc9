import { inject, injectable } from 'inversify';
import { NodeIdentity } from '../../base/node-identity.js';
import type { ReadTx } from '../../base/store.js';
import type { LiveNodes } from '../../kernel/node/live-nodes.js';
import { type NodeOffers, NodeRepository } from '../../kernel/node/node-repository.js';
import { OsProcesses } from '../os/os-processes.js';
import { NodeOffering } from './node-offering.js';

/** Live are the nodes whose epoch has not ended, but for programs of this machine that are provably gone. */
@injectable()
export class LiveOffers implements LiveNodes {
  constructor(
    @inject(NodeRepository) private readonly nodes: NodeRepository,
    @inject(NodeIdentity) private readonly self: NodeIdentity,
    @inject(OsProcesses) private readonly os: OsProcesses,
    @inject(NodeOffering) private readonly offering: NodeOffering,
  ) {}

  async findOffers(tx: ReadTx): Promise<(NodeOffers | null)[]> {
    const live = await this.nodes.findLive(tx);
    return live.flatMap(({ id, host, offers }) => {
      // The row of this node may be behind what is registered.
      if (id === this.self.nodeId) return [this.offering.offers];
      return this.os.isAlive(host) === false ? [] : [offers];
    });
  }
}
