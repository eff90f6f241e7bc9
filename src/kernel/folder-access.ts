import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../base/clock.js';
import { CapabilityError } from '../base/errors.js';
import type { Pid } from '../base/ids.js';
import { Evaluator } from '../capability/evaluator.js';
import { parseRequest } from '../capability/resource.js';
import type { Caller } from './act.js';
import { Units } from './units.js';
import { normalise } from './working-directory.js';

/** Whether a caller may use a folder: the host may, a process needs `read` on it. */
@injectable()
export class FolderAccess {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(Evaluator) private readonly evaluator: Evaluator,
  ) {}

  /** Asked before the disk is looked at, so that a refusal does not tell what is there. Throws INVALID_PATH, CAPABILITY_DENIED. */
  async assertReadable(caller: Caller, action: string, from: string, path: string): Promise<void> {
    if (caller.face === 'host') return;
    const { pid } = caller;
    const folder = parseRequest(`fs:${normalise(from, path)}`);
    await this.units.look({ caller, actor: pid, action, target: pid }, async (tx) => {
      const question = { pid, right: 'read', request: folder, args: {} } as const;
      const { code } = await this.evaluator.decide(tx, question, this.clock.peek());
      if (code !== 'ALLOWED') throw unreadable(pid, code);
    });
  }
}

function unreadable(pid: Pid, code: string): CapabilityError {
  return new CapabilityError('CAPABILITY_DENIED', `Process ${pid} may not read that folder.`, {
    facts: { pid, right: 'read', code },
    hint: 'Ask its parent to delegate read on it.',
  });
}
