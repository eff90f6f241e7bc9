import { inject, injectable } from 'inversify';
import type { z } from 'zod';
import { type InputError, invalidInput, ToolError } from '../../base/errors.js';
import type { ReadTx } from '../../base/store.js';
import { CommandRepository } from '../../kernel/command/command-repository.js';
import type { HostIdentity } from '../../kernel/node/node-repository.js';
import type { adoptSpec } from '../../kernel/specs.js';
import { type OsProgram, OsPrograms } from '../../runtime/os/os-programs.js';

/** What the caller says of the start of a program may differ from what the system says by this much. */
const startToleranceMs = 2_000;

/** Decides whether a program of the operating system may be adopted, and what its signals go to. */
@injectable()
export class AdoptionChecks {
  constructor(
    @inject(OsPrograms) private readonly programs: OsPrograms,
    @inject(CommandRepository) private readonly commands: CommandRepository,
  ) {}

  /** Looks at the system, so it is not for units. Throws INVALID_INPUT, UNSUPPORTED. */
  inspect({ osPid, groupPid, startedAt }: z.output<typeof adoptSpec>): { program: OsProgram; group: number | null } {
    const own = this.programs.own();
    if (own.lineage.includes(osPid)) throw refused('spec.osPid', osPid, 'is this program, or one that it runs under');
    if (osPid === own.group) throw refused('spec.osPid', osPid, 'leads the process group of this program');
    if (groupPid === own.group) throw refused('spec.groupPid', osPid, 'is the process group of this program');
    const program = this.programs.find(osPid);
    if (program === undefined) {
      if (this.programs.find(process.pid) === undefined) throw unsupported();
      throw refused('spec.osPid', osPid, 'is no program that runs');
    }
    if (program.user !== own.user) throw refused('spec.osPid', osPid, "is another user's");
    if (startedAt !== undefined && Math.abs(startedAt - program.startedAt) > startToleranceMs)
      throw refused('spec.startedAt', osPid, `is not when it was started, which was ${program.startedAt}`);
    const leadsGroup = groupPid === osPid && program.group === groupPid;
    return { program, group: leadsGroup ? groupPid : null };
  }

  /** Throws INVALID_INPUT when a live process is this program. */
  async assertNoRow(tx: ReadTx, { machine, boot, pid, startTicks }: HostIdentity): Promise<void> {
    for (const { pid: process, command } of await this.commands.findHeld(tx)) {
      const { leader } = command;
      if (leader?.pid !== pid || leader.startTicks !== startTicks) continue;
      if (leader.machine === machine && leader.boot === boot)
        throw refused('spec.osPid', pid, `is process ${process} already`);
    }
  }
}

function refused(path: string, osPid: number, problem: string): InputError {
  const hint =
    'Give a program of the same user that runs, is no process of the kernel yet, and does not run the kernel.';
  return invalidInput(path, problem, hint, { osPid });
}

function unsupported(): ToolError {
  return new ToolError('UNSUPPORTED', 'Programs of others cannot be told apart on this system: it has no /proc.', {
    facts: { platform: process.platform },
    hint: 'Run the kernel on Linux, or start the program with it.',
  });
}
