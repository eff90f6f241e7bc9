import { inject, injectable } from 'inversify';
import { IdSource, type Pid } from '../../base/ids.js';
import type { WriteTx } from '../../base/store.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import type { RuleEffect, RuleRecord, StatedRule } from './rule.js';
import { RuleRepository } from './rule-repository.js';

/** The process that a rule is set on, with its row number; `*` and 0 for all processes. */
export interface RuleTarget {
  readonly pid: Pid | '*';
  readonly n: number;
}

/** Sets and lifts rules, each with its event. The audit record is the caller's to write. */
@injectable()
export class RuleWriter {
  constructor(
    @inject(RuleRepository) private readonly repository: RuleRepository,
    @inject(IdSource) private readonly ids: IdSource,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  async set(tx: WriteTx, effect: RuleEffect, target: RuleTarget, stated: StatedRule, at: number): Promise<RuleRecord> {
    const rule: RuleRecord = { id: this.ids.next('rule'), effect, ...target, ...stated, createdAt: at };
    await this.repository.insert(tx, rule);
    this.recorder.recordEvent(tx, { type: 'rule.set', at, ...pidOfEvent(target.pid), data: { rule: rule.id, effect } });
    return rule;
  }

  async lift(tx: WriteTx, { id, pid }: RuleRecord, at: number): Promise<void> {
    await this.repository.delete(tx, id);
    this.recorder.recordEvent(tx, { type: 'rule.lifted', at, ...pidOfEvent(pid), data: { rule: id } });
  }
}

function pidOfEvent(pid: Pid | '*'): { pid?: Pid } {
  return pid === '*' ? {} : { pid };
}
