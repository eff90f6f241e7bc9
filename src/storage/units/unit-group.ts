import { type KernelError, StoreError } from '../../base/errors.js';
import type { Channel, WriteTx } from '../../base/store.js';
import { Turns } from '../../base/turns.js';
import type { UnitConnection } from './unit-connection.js';
import { WriteUnit } from './write-unit.js';

export const groupUnitsMax = 256;
export const groupMs = 10;
/** Rows that are written at the end of a group before the event loop may have a turn. */
const rowsPerTurn = 250;

/** A unit that waits for its group. */
export interface QueuedUnit {
  readonly work: (tx: WriteTx) => Promise<unknown>;
  readonly mode: 'unit' | 'read';
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: KernelError) => void;
  /** Whether what follows it was queued, also in a run that was not kept. */
  isFollowed?: boolean;
}

/** The transaction of a group, as its engine has it. */
export interface GroupTransaction {
  /** False when the engine has ended it or refuses its statements: the whole group is lost then. */
  isIntact(): boolean;
  /** Answers with the version of the state that it made, where a commit of its own changes it. */
  commit(hasWritten: boolean): undefined | Promise<string>;
  rollback(): void | Promise<void>;
  /** Converts what a unit has thrown. */
  toKernelError(error: unknown): KernelError;
}

/** The units of one transaction; their promises settle after its end. */
export class UnitGroup {
  hasWritten = false;
  private readonly units: QueuedUnit[] = [];
  private readonly settlements: (() => void)[] = [];
  private readonly deferred = new Map<Channel<unknown, unknown>, unknown[]>();
  private readonly publications: (() => void)[] = [];
  /** After long units, the COMMIT and each publication have turns of the event loop of their own. */
  private readonly turns = new Turns();

  constructor(
    private readonly connection: UnitConnection,
    private readonly transaction: GroupTransaction,
  ) {}

  get size(): number {
    return this.units.length;
  }

  get isIntact(): boolean {
    return this.transaction.isIntact();
  }

  async run(unit: QueuedUnit): Promise<void> {
    this.units.push(unit);
    const tx = new WriteUnit(this.connection, unit.mode);
    try {
      const value = await unit.work(tx);
      tx.release();
      this.collectDeferred(tx);
      this.settlements.push(() => unit.resolve(value));
      if (unit.isFollowed !== true) for (const queue of tx.followUps) queue();
      unit.isFollowed = true;
    } catch (error) {
      if (!this.isIntact) throw error;
      tx.rollback();
      this.settlements.push(() => unit.reject(this.transaction.toKernelError(error)));
    }
  }

  private collectDeferred(tx: WriteUnit): void {
    this.hasWritten ||= tx.hasWritten;
    for (const { channel, item } of tx.deferred) {
      const items = this.deferred.get(channel);
      if (items === undefined) this.deferred.set(channel, [item]);
      else items.push(item);
    }
  }

  async commit(): Promise<void> {
    while (this.connection.workingSet.flushGroup(rowsPerTurn)) await this.turns.next();
    const tx = new WriteUnit(this.connection, 'seal');
    for (const [channel, items] of this.deferred) {
      this.assertIntact();
      const sealed = await channel.seal(tx, items);
      this.publications.push(() => channel.committed(sealed));
    }
    await this.turns.next();
    const version = await this.transaction.commit(this.hasWritten);
    this.connection.workingSet.endGroup(version);
  }

  /** Rows that are written after the transaction has ended would be committed on their own. */
  private assertIntact(): void {
    if (this.isIntact) return;
    throw new StoreError('STORE_FAILED', 'The transaction ended before it could be committed.', {
      hint: 'Nothing of this call was kept; try again.',
      retryable: true,
    });
  }

  async settle(): Promise<void> {
    for (const publish of this.publications) {
      await this.turns.next();
      publish();
    }
    for (const settle of this.settlements) settle();
  }

  /** Undoes all of it, and refuses its units. */
  async fail(error: unknown): Promise<void> {
    await this.abandon();
    const refusal = this.transaction.toKernelError(error);
    for (const unit of this.units) unit.reject(refusal);
  }

  /** Undoes all of it, so that its units can be run again: answers with them. */
  async takeBack(): Promise<readonly QueuedUnit[]> {
    await this.abandon();
    return this.units;
  }

  /** Undoes all of it. */
  private async abandon(): Promise<void> {
    if (this.isIntact) await this.transaction.rollback();
    this.connection.workingSet.abandonGroup();
  }
}
