import { inject, injectable } from 'inversify';
import { ProcessError } from '../../base/errors.js';
import type { ReadTx } from '../../base/store.js';
import type { Caller } from '../../unit/caller.js';
import { Units } from '../../unit/units.js';
import { ProcessEnds } from '../lifecycle/process-ends.js';
import type { Outcome, ProcessRow } from '../process/process.js';
import { ProcessLookup } from '../process/process-lookup.js';
import { nextState } from '../process/transitions.js';
import { adoptedEnd, parse, parsePid } from '../specs.js';
import { CommandRepository, type CommandRow } from './command-repository.js';

/** Ends adopted programs as whoever started them tells it. */
@injectable()
export class AdoptedEnds {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(CommandRepository) private readonly commands: CommandRepository,
    @inject(ProcessEnds) private readonly processEnds: ProcessEnds,
  ) {}

  async has(tx: ReadTx, { kind, n }: ProcessRow): Promise<boolean> {
    const command = kind === 'command' ? await this.commands.find(tx, n) : undefined;
    return command !== undefined && command.adopted !== null;
  }

  /** A program that was being stopped ends as it was ordered to. Throws PROCESS_TERMINATED, INVALID_TRANSITION. */
  async complete(caller: Caller, input: unknown, raw: unknown = {}): Promise<void> {
    const pid = parsePid(input);
    const { exitCode, error } = parse(adoptedEnd, raw, 'end');
    const call = { caller, actor: 'host', action: 'command.end', target: pid } as const;
    await this.units.commit(call, async (tx, act) => {
      const row = await this.lookup.getLive(tx, pid);
      await getAdopted(this.commands, tx, row);
      const isFailed = error !== undefined || (exitCode ?? 0) !== 0;
      const told = exitCode === undefined ? {} : { exitCode };
      const own: Outcome = { kind: isFailed ? 'failed' : 'completed', ...told };
      const isStopped = row.status === 'stopping';
      await this.processEnds.end(tx, act, {
        row,
        ended: nextState(row, isStopped ? 'end' : isFailed ? 'fail' : 'exit'),
        outcome: isStopped && row.stop !== null ? { ...row.stop, ...told } : own,
        action: 'command.end',
        ...(error === undefined ? {} : { message: error }),
      });
    });
  }
}

/** The command row of an adopted program. Throws INVALID_TRANSITION for any other process. */
export async function getAdopted(commands: CommandRepository, tx: ReadTx, row: ProcessRow): Promise<CommandRow> {
  const command = row.kind === 'command' ? await commands.find(tx, row.n) : undefined;
  if (command !== undefined && command.adopted !== null) return command;
  throw new ProcessError('INVALID_TRANSITION', `Process ${row.pid} is not a program that was adopted.`, {
    facts: { pid: row.pid, kind: row.kind },
    hint: 'processes.adopt makes a process of a program that somebody else has started.',
  });
}
