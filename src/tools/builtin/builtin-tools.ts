import { inject, injectable } from 'inversify';
import { Clock } from '../../base/clock.js';
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
  constructor(@inject(Clock) private readonly clock: Clock) {}

  all(): Tool[] {
    return [
      ...fsTools(),
      httpFetch(),
      commandRunTool(),
      ...processTools(),
      ...memoryTools(),
      ...kernelTools(this.clock),
    ];
  }
}
