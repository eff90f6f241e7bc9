import { inject, injectable } from 'inversify';
import type { ObjectId } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { CapabilityRecord } from '../../capability/holding/capability-record.js';
import { Grants } from '../../capability/holding/grants.js';
import { rightsOfMask } from '../../capability/resource/rights.js';
import { mintHandle, type ObjectHandle } from '../../memory/object/object.js';
import { ObjectRepository } from '../../memory/object/object-repository.js';
import { Accounts, usageOf } from '../budget/accounts.js';
import { isTerminal, type Outcome, type ProcessResult, type ProcessRow } from './process.js';

/** Results and goals of processes, as handles that their reader can use. */
@injectable()
export class ProcessResults {
  constructor(
    @inject(ObjectRepository) private readonly objects: ObjectRepository,
    @inject(Grants) private readonly grants: Grants,
    @inject(Accounts) private readonly accounts: Accounts,
  ) {}

  /** Undefined while `row` is live. `reader` is the process that asks, or the host. */
  async resultOf(
    tx: ReadTx,
    row: ProcessRow,
    reader: string | 'host',
    now: number,
  ): Promise<ProcessResult | undefined> {
    if (!isTerminal(row.status)) return undefined;
    const outcome: Outcome = row.outcome ?? { kind: 'abandoned' };
    const { message } = row;
    return {
      pid: row.pid,
      status: row.status,
      outcome,
      ...(await this.findValue(tx, row, reader, now)),
      ...(message === null ? {} : { message }),
      ...(outcome.exitCode === undefined ? {} : { exitCode: outcome.exitCode }),
      usage: usageOf(await this.accounts.get(tx, row.n)),
    };
  }

  /** Reads together what the goals of these processes need, for a unit that will ask for one after another. */
  async loadGoals(tx: WriteTx, rows: readonly ProcessRow[]): Promise<void> {
    await this.objects.load(tx, [...new Set(rows.map(({ goal }) => goal))]);
    await this.grants.load(
      tx,
      rows.map(({ pid }) => pid),
    );
  }

  /** A handle to the goal of a process, for the process itself; without rights when it may not read the goal any more. */
  async goalHandleOf(tx: ReadTx, { pid, goal }: ProcessRow, now: number): Promise<ObjectHandle> {
    const object = await this.objects.find(tx, goal);
    const by = object === undefined ? undefined : await this.grants.findRead(tx, pid, object, 'read', now);
    return by === undefined ? mintHandle(goal, [], 'host') : toHandle(goal, by.record);
  }

  private async findValue(
    tx: ReadTx,
    row: ProcessRow,
    reader: string | 'host',
    now: number,
  ): Promise<Pick<ProcessResult, 'result' | 'value'>> {
    const object = row.result === null ? undefined : await this.objects.find(tx, row.result);
    if (object === undefined || object.deletedAt !== null) return {};
    if (reader === 'host') return { result: mintHandle(object.id, ['read'], 'host'), value: object.payload };
    const by = await this.grants.findRead(tx, reader, object, 'read', now);
    if (by === undefined) return {};
    const result = toHandle(object.id, by.record);
    // Reading a value that a rule asks about, or that costs a use, is left to memory.read, which records it.
    return by.asks.length > 0 || by.record.uses !== null ? { result } : { result, value: object.payload };
  }
}

function toHandle(id: ObjectId, { rights, id: capability }: CapabilityRecord): ObjectHandle {
  return mintHandle(id, rightsOfMask(rights), capability);
}
