import { inject, injectable } from 'inversify';
import { Clock } from '../../base/clock.js';
import { KernelFiles } from '../../kernel/workspace/kernel-files.js';
import type { Tool } from '../tool.js';
import { commandTools } from './command-tools.js';
import { fsTools } from './fs-tools.js';
import { httpFetch } from './http-fetch.js';
import { kernelTools } from './kernel-tools.js';
import { memoryTools } from './memory-tools.js';
import { messageTools } from './message-tools.js';
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
      ...commandTools(),
      ...processTools(),
      ...memoryTools(),
      ...messageTools(),
      ...kernelTools(this.clock),
    ];
  }
}

/**
 * What the tools need besides `call` on themselves where they declare no resources: the calls that they make for the process
 * are decided one by one. For docs/tables.md.
 */
export const builtinToolNeeds: Readonly<Record<string, string>> = {
  'command.run': '`call` on `command:NAME`, `read` on the folder `cwd`, `read` on `secret:NAME` for each variable',
  'command.output': 'nothing: it reads the output of its own commands',
  'command.stop': 'nothing for a child, `signal` on any other process',
  'process.spawn': 'what it delegates',
  'process.fork': 'what it delegates',
  'process.wait': 'nothing for a child',
  'process.list': 'nothing',
  'process.signal': 'nothing for a child, `signal` on any other process',
  'memory.read': '`read` on the object, unless the process has created it',
  'memory.write': '`create` or `write` on `ns:NAMESPACE`, unless it is its own',
  'memory.search': 'nothing: it finds what is in its view and what it may read',
  'memory.merge': 'nothing for a child that was forked and has ended',
  'message.receive': 'nothing: the mailbox is its own',
  'message.send': 'nothing for parent and children, `send` on any other process',
  'capability.request': 'nothing: a person answers',
  'human.ask': 'nothing: a person answers',
  'clock.now': 'nothing',
};
