import { inject, injectable } from 'inversify';
import type { z } from 'zod';
import type { Pid } from '../../base/ids.js';
import { Store } from '../../base/store.js';
import { parseDelegationSpec } from '../../capability/holding/capability-spec.js';
import type { ViewNarrowing } from '../../memory/object/object.js';
import { ObjectHandle } from '../../memory/object/object-handle.js';
import { PayloadParser } from '../../memory/object/object-writer.js';
import { ViewLimits } from '../../memory/view/view-limits.js';
import type { Caller } from '../../unit/caller.js';
import { OutdatedPreparation, Units } from '../../unit/units.js';
import { Spawning } from '../lifecycle/spawning.js';
import { imageReference } from '../process/images.js';
import { ProcessLookup } from '../process/process-lookup.js';
import { forkSpec, parse, parsePid } from '../specs.js';
import { SpawnPreparer } from './prepare-spawn.js';

@injectable()
export class Fork {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Units) private readonly units: Units,
    @inject(PayloadParser) private readonly payloads: PayloadParser,
    @inject(SpawnPreparer) private readonly shaper: SpawnPreparer,
    @inject(Spawning) private readonly births: Spawning,
    @inject(ViewLimits) private readonly narrowings: ViewLimits,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
  ) {}

  /** Makes a child whose view is forked from the parent's; image and cwd default to the parent's. Throws as spawnChild. */
  async run(caller: Caller, parentPid: unknown, input: unknown): Promise<Pid> {
    const actor = parsePid(parentPid, 'parent');
    const given = parse(forkSpec, input, 'spec', this.payloads.specLimits);
    const { mode, view, delegate: stated, image, ...born } = given;
    const delegate = stated.map((one, index) => parseDelegationSpec(one, `spec.delegate.${index}`));
    const fork = { mode, narrowing: view === undefined ? null : narrowing(view) };
    const inherited = () => this.store.read(async (tx) => (await this.lookup.any(tx, actor)).image);
    return this.units.commitPrepared(
      { caller, actor, action: 'process.fork', target: actor },
      async () => {
        const spec = { ...born, image: image ?? (await inherited()) };
        return this.shaper.shape(caller, actor, spec, { ...given, view: fork.narrowing });
      },
      async (tx, act, shaped) => {
        const earlier = await this.shaper.earlier(tx, actor, shaped);
        if (earlier !== undefined) return earlier;
        const parent = await this.lookup.spawnable(tx, actor);
        if (image === undefined && parent.image !== imageReference(shaped.image)) throw new OutdatedPreparation(actor);
        if (fork.narrowing !== null) await this.narrowings.assertWithin(tx, act, actor, fork.narrowing);
        const child = await this.shaper.child(tx, parent, shaped, act.at);
        const { row } = await this.births.create(tx, act, { ...child, authority: { delegate }, fork });
        return row.pid;
      },
    );
  }
}

function narrowing(view: NonNullable<z.output<typeof forkSpec>['view']>): ViewNarrowing {
  const { roots, types, tags, rights } = view;
  return {
    ...(roots === undefined ? {} : { roots: roots.map((ref) => (ObjectHandle.is(ref) ? ref.id : ref)) }),
    ...(types === undefined ? {} : { types }),
    ...(tags === undefined ? {} : { tags }),
    ...(rights === undefined ? {} : { rights }),
  };
}
