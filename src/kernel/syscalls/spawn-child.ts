import { inject, injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import type { WriteTx } from '../../base/store.js';
import { parseDelegationSpec } from '../../capability/holding/capability-spec.js';
import { PayloadParser } from '../../memory/object/object-writer.js';
import type { Act } from '../../unit/act.js';
import type { Caller } from '../../unit/caller.js';
import { type ChangedProcess, ChangeRecorder } from '../../unit/change-recorder.js';
import { Units } from '../../unit/units.js';
import { Spawning } from '../lifecycle/spawning.js';
import { ProcessLookup } from '../process/process-lookup.js';
import { childSpec, parse, parsePid } from '../specs.js';
import { SpawnPreparer } from './prepare-spawn.js';

/** In whose place a child is started, and why. */
export interface Restart {
  /** The name of the place. */
  readonly child: string;
  readonly instead: Pid;
  /** A word: how the other one ended, or the strategy by which it was stopped. */
  readonly reason: string;
  /** The process whose end brought it about. */
  readonly because: Pid;
  /** What is known of that end. */
  readonly detail: string | undefined;
}

@injectable()
export class SpawnChild {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(PayloadParser) private readonly payloads: PayloadParser,
    @inject(SpawnPreparer) private readonly shaper: SpawnPreparer,
    @inject(Spawning) private readonly births: Spawning,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /**
   * Makes a child with a fresh view that holds what the parent hands it and nothing else.
   * Throws AMPLIFICATION, BUDGET_EXCEEDED, TREE_STOPPING, PROCESS_TERMINATED, and what spawn throws.
   */
  async run(caller: Caller, parentPid: unknown, input: unknown, restart?: Restart): Promise<Pid> {
    const actor = parsePid(parentPid, 'parent');
    const spec = parse(childSpec, input, 'spec', this.payloads.specLimits);
    const delegate = spec.delegate.map((one, index) => parseDelegationSpec(one, `spec.delegate.${index}`));
    const shaped = await this.shaper.shape(caller, actor, spec);
    return this.units.commit({ caller, actor, action: 'process.spawnChild', target: actor }, async (tx, act) => {
      const earlier = await this.shaper.earlier(tx, actor, shaped);
      if (earlier !== undefined) return earlier;
      const parent = await this.lookup.spawnable(tx, actor);
      const child = await this.shaper.child(tx, parent, shaped, act.at);
      const { row } = await this.births.create(tx, act, { ...child, authority: { delegate }, fork: null });
      if (restart !== undefined) this.restarted(tx, act, row, restart);
      return row.pid;
    });
  }

  private restarted(tx: WriteTx, act: Act, born: ChangedProcess, restart: Restart): void {
    const { child, instead, reason, because, detail } = restart;
    const supervisor = act.actor;
    this.recorder.record(tx, act, born, {
      event: 'process.restarted',
      data: { supervisor, child, instead, reason },
      action: 'process.restart',
      facts: { supervisor, instead, reason, because },
      payload: { child, ...(detail === undefined ? {} : { detail }) },
    });
  }
}
