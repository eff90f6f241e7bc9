import { inject, injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import { parseCapabilitySpec } from '../../capability/holding/capability-spec.js';
import { PayloadParser } from '../../memory/object/object-writer.js';
import type { Caller } from '../../unit/caller.js';
import { Units } from '../../unit/units.js';
import { Spawning } from '../lifecycle/spawning.js';
import { parse, spawnSpec } from '../specs.js';
import { SpawnPreparer } from './prepare-spawn.js';

@injectable()
export class Spawn {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(PayloadParser) private readonly payloads: PayloadParser,
    @inject(SpawnPreparer) private readonly shaper: SpawnPreparer,
    @inject(Spawning) private readonly births: Spawning,
  ) {}

  /** Makes a root process with root grants. Throws NO_SUCH_IMAGE, INVALID_INPUT, INVALID_PATH, CAPABILITY_DENIED, CONFLICT. */
  async run(caller: Caller, input: unknown): Promise<Pid> {
    const spec = parse(spawnSpec, input, 'spec', this.payloads.specLimits);
    const grants = spec.capabilities.map((grant, index) => parseCapabilitySpec(grant, `spec.capabilities.${index}`));
    const shaped = await this.shaper.shape(caller, null, spec);
    return this.units.commit({ caller, actor: 'host', action: 'process.spawn' }, async (tx, act) => {
      const earlier = await this.shaper.earlier(tx, null, shaped);
      if (earlier !== undefined) return earlier;
      const goal = await this.shaper.goal(tx, 'host', shaped.goal, act.at);
      const { row } = await this.births.create(tx, act, {
        cwd: '.',
        ...shaped,
        goal,
        parent: null,
        authority: { grants },
        fork: null,
      });
      return row.pid;
    });
  }
}
