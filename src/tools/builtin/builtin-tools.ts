import { inject, injectable } from 'inversify';
import { Clock } from '../../base/clock.js';
import { KernelFiles } from '../../kernel/workspace/kernel-files.js';
import type { Tool } from '../tool.js';
import { commandRunTool } from './command-run-tool.js';
import { fsTools } from './fs-tools.js';
import { httpFetch } from './http-fetch.js';
import { kernelTools } from './kernel-tools.js';
import { memoryTools } from './memory-tools.js';
import { processTools } from './process-tools.js';

/** The tools of every kernel. They act with the authority of the process that calls them, and with no other. */
@injectable()
export class BuiltinTools {
  constructor(
    @inject(Clock) private readonly clock: Clock,
    @inject(KernelFiles) private readonly kernelFiles: KernelFiles,
  ) {}

  all(): Tool[] {
    return [
      ...fsTools(undefined, this.kernelFiles),
      httpFetch(),
      commandRunTool(),
      ...processTools(),
      ...memoryTools(),
      ...kernelTools(this.clock),
    ];
  }
}
