import { inject, injectable } from 'inversify';
import type { JsonObject } from '../../base/json.js';
import type { WriteTx } from '../../base/store.js';
import type { Act } from '../../unit/act.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import type { CapabilityRecord } from './capability-record.js';
import { CapabilityRepository } from './capability-repository.js';

/** Revokes a capability: its row, its event and its audit record, in the caller's unit. */
@injectable()
export class Revocations {
  constructor(
    @inject(CapabilityRepository) private readonly repository: CapabilityRepository,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /** Everything derived from it is dead at once; the caller wakes the sweep that marks it, after the unit. */
  async revoke(tx: WriteTx, act: Act, record: CapabilityRecord, payload?: JsonObject): Promise<void> {
    const { id: capability, holder, resource } = record;
    await this.repository.revoke(tx, record);
    this.recorder.recordEvent(tx, { type: 'capability.revoked', at: act.at, pid: holder, data: { capability } });
    this.recorder.recordAudit(tx, {
      ...act,
      action: 'capability.revoke',
      outcome: 'ok',
      target: holder,
      capability,
      resource,
      ...(payload === undefined ? {} : { payload }),
      subject: holder,
    });
  }
}
