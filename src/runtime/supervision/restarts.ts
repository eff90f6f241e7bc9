import { inject, injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import type { ChildSpec } from '../../kernel/face/process-specs.js';
import { type Restart, SpawnChild } from '../../kernel/syscalls/spawn-child.js';
import { Calls, plain } from '../run/calls.js';
import { ReplayJournal } from '../run/replay-journal.js';
import type { Run } from '../run/run.js';

/** What the run of a supervisor can do beyond other bodies. */
export interface RestartCalls {
  /** The time of the kernel, the same whenever the body is run again. */
  now(): Promise<number>;
  /** Starts a child in the place of one that has ended; that it is one is in the commit of its birth. */
  restart(spec: ChildSpec, restart: Restart): Promise<Pid>;
}

@injectable()
export class Restarts {
  constructor(
    @inject(Calls) private readonly calls: Calls,
    @inject(ReplayJournal) private readonly journal: ReplayJournal,
    @inject(SpawnChild) private readonly spawnChild: SpawnChild,
  ) {}

  of(run: Run): RestartCalls {
    return {
      now: async () => this.now(run),
      restart: async (spec, restart) =>
        this.calls.journalled(run, 'restart', restart.child, plain<Pid>(), (_face, _call, caller) =>
          this.spawnChild.run(caller, run.pid, spec, restart),
        ),
    };
  }

  private now(run: Run): Promise<number> {
    return this.calls.answered(run, 'now', '', plain<number>(), (call) =>
      this.journal.unit(run, call, 'call.end', async (tx, act) => {
        await this.journal.done(tx, act, run, call, act.at);
        return act.at;
      }),
    );
  }
}
