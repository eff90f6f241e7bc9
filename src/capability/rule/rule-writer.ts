import { inject, injectable } from 'inversify';
import { IdSource, type Pid } from '../../base/ids.js';
import type { WriteTx } from '../../base/store.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import type { RuleEffect, RuleRecord } from './rule.js';
import { RuleRepository } from './rule-repository.js';

/** On whom a rule is set: a process with its number, or everybody. */
export interface RuleTarget {
  readonly pid: Pid | '*';
  readonly n: number;
}

/** Sets rules and lifts them, with the event that tells of it. */
@injectable()
export class RuleWriter {
  constructor(
    @inject(RuleRepository) private readonly repository: RuleRepository,
    @inject(IdSource) private readonly ids: IdSource,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  async set(
    tx: WriteTx,
    effect: RuleEffect,
    on: RuleTarget,
    stated: Pick<RuleRecord, 'resource' | 'rights' | 'argsHash' | 'reason' | 'expiresAt'>,
    at: number,
  ): Promise<RuleRecord> {
    const rule: RuleRecord = { id: this.ids.next('rule'), effect, ...on, ...stated, createdAt: at };
    await this.repository.insert(tx, rule);
    this.recorder.event(tx, { type: 'rule.set', at, ...about(on.pid), data: { rule: rule.id, effect } });
    return rule;
  }

  async lift(tx: WriteTx, { id, pid }: RuleRecord, at: number): Promise<void> {
    await this.repository.delete(tx, id);
    this.recorder.event(tx, { type: 'rule.lifted', at, ...about(pid), data: { rule: id } });
  }
}

function about(pid: Pid | '*'): { pid?: Pid } {
  return pid === '*' ? {} : { pid };
}
