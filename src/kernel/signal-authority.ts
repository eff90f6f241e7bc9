import { inject, injectable } from 'inversify';
import { ProcessError } from '../base/errors.js';
import type { CapabilityId, Pid } from '../base/ids.js';
import type { WriteTx } from '../base/store.js';
import { Evaluator } from '../capability/evaluator.js';
import { HostRules } from '../capability/host-rules.js';
import { parseRequest } from '../capability/resource.js';
import { Uses } from '../capability/uses.js';
import type { Act } from './act.js';
import { Lookup } from './lookup.js';

/** Whom a process may signal: its own children, and those that it holds a capability on. */
@injectable()
export class SignalAuthority {
  constructor(
    @inject(Lookup) private readonly lookup: Lookup,
    @inject(HostRules) private readonly rules: HostRules,
    @inject(Evaluator) private readonly evaluator: Evaluator,
    @inject(Uses) private readonly uses: Uses,
  ) {}

  /**
   * Answers with what allows it. A stranger and a pid that does not exist answer alike. Throws NOT_A_CHILD,
   * CAPABILITY_DENIED where a rule forbids it, PROCESS_TERMINATED.
   */
  async of(tx: WriteTx, act: Act, pid: Pid, target: Pid): Promise<CapabilityId | 'kin'> {
    await this.lookup.live(tx, pid);
    const resource = `process:${target}`;
    await this.rules.assertNotDenied(tx, act, pid, 'signal', [resource]);
    const question = { pid, right: 'signal', request: parseRequest(resource), args: {} } as const;
    const { code, record } = await this.evaluator.decide(tx, question, act.at);
    if (code === 'KIN') return 'kin';
    if (record === undefined) throw notAChild(pid, target);
    await this.uses.claim(tx, record, act.at);
    return record.id;
  }
}

function notAChild(pid: Pid, child: Pid): ProcessError {
  return new ProcessError('NOT_A_CHILD', `Process ${pid} has no child ${JSON.stringify(child)}.`, {
    facts: { pid, child },
    hint: 'A process signals its own children, and those that it holds the right "signal" on.',
  });
}
