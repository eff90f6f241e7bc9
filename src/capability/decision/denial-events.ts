import { inject, injectable } from 'inversify';
import type { WriteTx } from '../../base/store.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import type { RefusalObserver, RefusedCall } from '../../unit/refusal-observer.js';

/** Announces refusals for missing authority as `capability.denied`. */
@injectable()
export class DenialEvents implements RefusalObserver {
  constructor(@inject(ChangeRecorder) private readonly recorder: ChangeRecorder) {}

  onRecord(tx: WriteTx, { act: { at }, pid, error: { code, facts } }: RefusedCall): void {
    if (code !== 'AMPLIFICATION' && !code.startsWith('CAPABILITY_')) return;
    const { resource = '', rights = [], right = rights } = facts;
    const data = { code, kind: `${resource}`.split(':')[0] ?? '', right: `${right}` };
    this.recorder.recordEvent(tx, { type: 'capability.denied', at, ...(pid === undefined ? {} : { pid }), data });
  }
}
