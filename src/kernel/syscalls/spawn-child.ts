import { inject, injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import { parseDelegationSpec } from '../../capability/capability-spec.js';
import { Payloads } from '../../memory/payloads.js';
import type { Caller } from '../act.js';
import { Births } from '../births.js';
import { Lookup } from '../lookup.js';
import { childSpec, parse, parsePid } from '../specs.js';
import { Units } from '../units.js';
import { BirthShaper } from './shape-birth.js';

@injectable()
export class SpawnChild {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(Payloads) private readonly payloads: Payloads,
    @inject(BirthShaper) private readonly shaper: BirthShaper,
    @inject(Births) private readonly births: Births,
    @inject(Lookup) private readonly lookup: Lookup,
  ) {}

  /**
   * Makes a child with a fresh view that holds what the parent hands it and nothing else.
   * Throws AMPLIFICATION, BUDGET_EXCEEDED, TREE_STOPPING, PROCESS_TERMINATED, and what spawn throws.
   */
  async run(caller: Caller, parentPid: unknown, input: unknown): Promise<Pid> {
    const actor = parsePid(parentPid, 'parent');
    const spec = parse(childSpec, input, 'spec', this.payloads.specLimits);
    const delegate = spec.delegate.map((one, index) => parseDelegationSpec(one, `spec.delegate.${index}`));
    const shaped = await this.shaper.shape(caller, actor, spec);
    return this.units.commit({ caller, actor, action: 'process.spawnChild', target: actor }, async (tx, act) => {
      const earlier = await this.shaper.earlier(tx, actor, shaped);
      if (earlier !== undefined) return earlier;
      const parent = await this.lookup.fertile(tx, actor);
      const child = await this.shaper.child(tx, parent, shaped, act.at);
      return this.births.create(tx, act, { ...child, authority: { delegate }, fork: null });
    });
  }
}
