import { inject, injectable } from 'inversify';
import type { JsonValue } from '../../base/json.js';
import type { WriteTx } from '../../base/store.js';
import type { Act } from '../../unit/act.js';
import type { Caller } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import type { ProcessRow } from '../process/process.js';
import { SignalRepository } from '../signal/signal-repository.js';
import { parse, parsePid, userSignal, waitOptions } from '../specs.js';
import { InboxWait } from '../waiting/inbox-wait.js';

@injectable()
export class WaitSignal {
  constructor(
    @inject(InboxWait) private readonly inbox: InboxWait,
    @inject(SignalRepository) private readonly signals: SignalRepository,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /**
   * The payload of the oldest signal `user.NAME` that no wait has received, or of the next that comes. `name` may have the
   * prefix `user.` or not. Throws WAIT_TIMEOUT, CANCELLED, PROCESS_TERMINATED, INVALID_INPUT.
   */
  async run(caller: Caller, input: unknown, name: unknown, options: unknown = {}): Promise<JsonValue> {
    const pid = parsePid(input);
    const signal = parse(userSignal, name, 'name');
    const limits = parse(waitOptions, options, 'options');
    return this.inbox.takeNext<JsonValue>(
      caller,
      {
        pid,
        action: 'process.waitSignal',
        reason: { kind: 'signal', what: signal, on: [`signal:${signal}`] },
        hasArrived: (tx) => this.signals.has(tx, pid, signal),
        take: (tx, act, row) => this.take(tx, act, row, signal),
      },
      limits,
    );
  }

  private async take(tx: WriteTx, act: Act, row: ProcessRow, signal: string): Promise<JsonValue | undefined> {
    const taken = await this.signals.take(tx, row.pid, signal);
    if (taken === undefined) return undefined;
    const { ordinal, payload } = taken;
    this.recorder.record(tx, act, row, {
      event: 'process.received',
      data: { signal, ordinal },
      action: 'process.waitSignal',
      facts: { signal, ordinal },
    });
    return payload;
  }
}
