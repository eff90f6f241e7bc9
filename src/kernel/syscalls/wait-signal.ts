import { inject, injectable } from 'inversify';
import type { JsonValue } from '../../base/json.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { Act } from '../../unit/act.js';
import type { Caller } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { InboxChecks } from '../message/inbox-checks.js';
import { Images } from '../process/images.js';
import type { ProcessRow } from '../process/process.js';
import { SignalRepository, type TakenSignal } from '../signal/signal-repository.js';
import { parse, parsePid, userSignal, waitOptions } from '../specs.js';
import { type AwaitedItem, InboxWait, refusedItem } from '../waiting/inbox-wait.js';

@injectable()
export class WaitSignal {
  constructor(
    @inject(InboxWait) private readonly inbox: InboxWait,
    @inject(SignalRepository) private readonly signals: SignalRepository,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(Images) private readonly images: Images,
    @inject(InboxChecks) private readonly checks: InboxChecks,
  ) {}

  /**
   * The payload of the oldest signal `user.NAME` that no wait has received, or of the next that comes. `name` may have the
   * prefix `user.` or not. One that does not fit the schema of the image is dropped. Throws WAIT_TIMEOUT, CANCELLED, PROCESS_TERMINATED, INVALID_INPUT.
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
        findCheck: (tx, row) => this.findCheck(tx, row, signal),
      },
      limits,
    );
  }

  private async take(tx: WriteTx, act: Act, row: ProcessRow, signal: string): Promise<JsonValue | undefined> {
    // The image has got a schema since the process was looked at.
    if (this.images.find(row.image)?.parseSignal?.has(signal) === true) return undefined;
    const taken = await this.signals.take(tx, row.pid, signal);
    return taken === undefined ? undefined : this.handOver(tx, act, row, signal, taken);
  }

  private async findCheck(
    tx: ReadTx,
    { pid, image }: ProcessRow,
    signal: string,
  ): ReturnType<AwaitedItem<JsonValue>['findCheck']> {
    const parse = this.images.find(image)?.parseSignal?.get(signal);
    const next = parse === undefined ? undefined : await this.signals.peek(tx, pid, signal);
    if (parse === undefined || next === undefined) return undefined;
    return async () => {
      const { ordinal, payload } = next;
      const verdict = await this.checks.parseSignal(parse, payload);
      return async (unitTx, act, row) => {
        const taken = row.image === image ? await this.signals.take(unitTx, pid, signal) : undefined;
        if (taken?.ordinal !== ordinal) return undefined;
        if ('value' in verdict) return this.handOver(unitTx, act, row, signal, { ...taken, payload: verdict.value });
        const data = { signal, ordinal };
        const { message: problem } = verdict.refusal;
        const change = {
          event: 'signal.refused',
          data,
          action: 'signal.refuse',
          facts: data,
          payload: { problem },
          cause: taken.record ?? undefined,
        } as const;
        this.recorder.record(unitTx, act, row, change);
        return refusedItem;
      };
    };
  }

  private handOver(
    tx: WriteTx,
    act: Act,
    row: ProcessRow,
    signal: string,
    { ordinal, payload, record }: TakenSignal,
  ): JsonValue {
    this.recorder.record(tx, act, row, {
      event: 'process.received',
      data: { signal, ordinal },
      action: 'process.waitSignal',
      facts: { signal, ordinal },
      cause: record ?? undefined,
    });
    return payload;
  }
}
