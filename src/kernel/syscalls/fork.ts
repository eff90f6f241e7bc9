import { inject, injectable } from 'inversify';
import type { z } from 'zod';
import type { Pid } from '../../base/ids.js';
import { Store } from '../../base/store.js';
import { parseDelegationSpecs } from '../../capability/holding/capability-spec.js';
import { assertNotExpired } from '../../capability/holding/expiry.js';
import { ObjectHandle, type ViewNarrowing } from '../../memory/object/object.js';
import { PayloadParser } from '../../memory/object/object-writer.js';
import { ViewLimits } from '../../memory/view/view-limits.js';
import type { Caller } from '../../unit/caller.js';
import { OutdatedPreparation, Units } from '../../unit/units.js';
import { Spawning } from '../lifecycle/spawning.js';
import { Images, withImageReference } from '../process/images.js';
import { ProcessLookup } from '../process/process-lookup.js';
import { forkSpec, parse, parsePid } from '../specs.js';
import { Spawn } from './spawn.js';

@injectable()
export class Fork {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Units) private readonly units: Units,
    @inject(PayloadParser) private readonly payloads: PayloadParser,
    @inject(Images) private readonly images: Images,
    @inject(Spawn) private readonly spawn: Spawn,
    @inject(Spawning) private readonly spawning: Spawning,
    @inject(ViewLimits) private readonly viewLimits: ViewLimits,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
  ) {}

  /** Creates a child whose view is forked from the parent's; image and cwd default to the parent's. Throws as Spawn.spawnChild. */
  async run(caller: Caller, parentPid: unknown, input: unknown): Promise<Pid> {
    const actor = parsePid(parentPid, 'parent');
    const original = parse(forkSpec, withImageReference(this.images, input), 'spec', this.payloads.specLimits);
    const { mode, view, delegate: delegationSpecs, image, ...common } = original;
    const delegate = delegationSpecs.flatMap((stated, index) => parseDelegationSpecs(stated, `spec.delegate.${index}`));
    const fork = { mode, narrowing: view === undefined ? null : toViewNarrowing(view) };
    const findParentImage = () => this.store.read(async (tx) => (await this.lookup.get(tx, actor)).image);
    return this.units.commitPrepared(
      { caller, actor, action: 'process.fork', target: actor },
      async () => {
        const spec = { ...common, image: image ?? (await findParentImage()) };
        return this.spawn.prepare(caller, actor, spec, {
          original: { ...original, view: fork.narrowing },
          action: 'process.fork',
        });
      },
      async (tx, act, prepared) => {
        const existing = await this.spawn.findExistingChild(tx, actor, prepared);
        if (existing !== undefined) return existing;
        const parent = await this.lookup.getSpawnable(tx, actor);
        if (image === undefined && parent.image !== prepared.image.reference) throw new OutdatedPreparation(actor);
        if (fork.narrowing !== null) await this.viewLimits.assertWithin(tx, act, actor, fork.narrowing);
        for (const [index, { expiresAt }] of delegationSpecs.entries())
          assertNotExpired({ expiresAt }, act.at, `spec.delegate.${index}`);
        const child = await this.spawn.toNewChild(tx, parent, prepared, act.at);
        const { row } = await this.spawning.create(tx, act, { ...child, authority: { delegate }, fork });
        return row.pid;
      },
    );
  }
}

function toViewNarrowing(view: NonNullable<z.output<typeof forkSpec>['view']>): ViewNarrowing {
  const { roots, types, tags, rights } = view;
  return {
    ...(roots === undefined ? {} : { roots: roots.map((ref) => (ObjectHandle.is(ref) ? ref.id : ref)) }),
    ...(types === undefined ? {} : { types }),
    ...(tags === undefined ? {} : { tags }),
    ...(rights === undefined ? {} : { rights }),
  };
}
