import { inject, injectable } from 'inversify';
import type { Relinquished } from '../runtime/node/node-lease.js';
import { NodeSettings } from '../runtime/node/node-settings.js';
import { CommandClaimer } from './drive/command-claimer.js';
import { CommandDrivers } from './drive/command-drivers.js';
import { OutputFiles } from './output/output-files.js';

/** The commands of one kernel, from its opening to its end. */
@injectable()
export class CommandService {
  constructor(
    @inject(NodeSettings) private readonly settings: NodeSettings,
    @inject(CommandClaimer) private readonly claims: CommandClaimer,
    @inject(CommandDrivers) private readonly drivers: CommandDrivers,
    @inject(OutputFiles) private readonly files: OutputFiles,
  ) {}

  /** Takes what is there to be started, if this node takes anything. */
  async start(): Promise<void> {
    if (this.settings.executor) await this.claims.start();
  }

  /** Stops what does not survive its kernel; what does can be adopted by others when the lease is given back. */
  async close(graceMs: number): Promise<Relinquished> {
    this.claims.stop();
    return this.drivers.close(graceMs);
  }

  /** When the store is closed. */
  dispose(): void {
    this.files.close();
  }
}
