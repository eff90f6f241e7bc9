import { inject, injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import type { ReadTx } from '../../base/store.js';
import { OutdatedPreparation } from '../../unit/units.js';
import { CommandIdentities, type UnreachableReason } from '../command/command-ports.js';
import { CommandRepository, type HeldCommand } from '../command/command-repository.js';
import type { ProcessRow } from '../process/process.js';

/** The commands that a signal does not reach; undefined before the operating system was looked at. */
export type UnreachableCommands = ReadonlyMap<Pid, UnreachableReason> | undefined;

const none: ReadonlyMap<Pid, UnreachableReason> = new Map();

/**
 * Finds out which of the commands that a signal is for it does not reach. The operating system is looked at before the unit
 * that delivers the signal, and only where the signal is for commands.
 */
@injectable()
export class SignalledCommands {
  constructor(
    @inject(CommandRepository) private readonly commands: CommandRepository,
    @inject(CommandIdentities) private readonly identities: CommandIdentities,
  ) {}

  /** Calls `send` at once, so that calls keep their order; and again when its unit has met commands that were not looked at. */
  async inspectFor<T>(send: (unreachable: UnreachableCommands) => Promise<T>): Promise<T> {
    try {
      return await send(undefined);
    } catch (error) {
      if (!(error instanceof UninspectedCommands)) throw error;
      return send(await this.identities.findUnreachable(error.commands));
    }
  }

  /** In the unit, before its first write. Throws UninspectedCommands where commands have to be looked at first. */
  async assertInspected(
    tx: ReadTx,
    rows: readonly ProcessRow[],
    unreachable: UnreachableCommands,
  ): Promise<ReadonlyMap<Pid, UnreachableReason>> {
    if (unreachable !== undefined) return unreachable;
    const held: HeldCommand[] = [];
    for (const { kind, n, pid, node } of rows) {
      const command = kind === 'command' && node !== null ? await this.commands.find(tx, n) : undefined;
      if (command !== undefined && node !== null) held.push({ pid, node, command });
    }
    if (held.length > 0) throw new UninspectedCommands(held);
    return none;
  }
}

/** The unit is undone and run again when the operating system was looked at. It never reaches the caller. */
class UninspectedCommands extends OutdatedPreparation {
  constructor(readonly commands: readonly HeldCommand[]) {
    super(commands[0]?.pid ?? '');
  }
}
