import { inject, injectable } from 'inversify';
import type { RelinquishedProcesses } from '../runtime/node/node-lease.js';
import { NodeSettings } from '../runtime/node/node-settings.js';
import { CommandClaimer } from './drive/command-claimer.js';
import { CommandDrivers } from './drive/command-drivers.js';
import { OutputFiles } from './output/output-files.js';

/** Starts and closes the command part of a kernel. */
@injectable()
export class CommandService {
  constructor(
    @inject(NodeSettings) private readonly settings: NodeSettings,
    @inject(CommandClaimer) private readonly claims: CommandClaimer,
    @inject(CommandDrivers) private readonly drivers: CommandDrivers,
    @inject(OutputFiles) private readonly files: OutputFiles,
  ) {}

  /** Begins to claim commands, if this node has an executor. */
  async start(): Promise<void> {
    if (this.settings.executor) await this.claims.start();
  }

  /** Stops the commands that do not survive the kernel. The others can be adopted once the lease is given back. */
  async close(graceMs: number): Promise<RelinquishedProcesses> {
    this.claims.stop();
    return this.drivers.close(graceMs);
  }

  /** To be called when the store is closed. */
  dispose(): void {
    this.files.close();
  }
}
