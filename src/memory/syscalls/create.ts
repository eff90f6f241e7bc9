import { inject, injectable } from 'inversify';
import type { z } from 'zod';
import { MemoryError } from '../../base/errors.js';
import { IdSource, type ObjectId, type Pid } from '../../base/ids.js';
import type { WriteTx } from '../../base/store.js';
import { type Authorization, Authorizer } from '../../capability/decision/authorizer.js';
import { plainQuestion } from '../../capability/decision/question.js';
import { CapabilityRepository } from '../../capability/holding/capability-repository.js';
import { HolderLookup } from '../../capability/holding/holders.js';
import { parseRequest } from '../../capability/resource/resource.js';
import { rightsOfMask } from '../../capability/resource/rights.js';
import type { Act } from '../../unit/act.js';
import type { Call, Caller } from '../../unit/caller.js';
import { Units } from '../../unit/units.js';
import { MemoryRecorder } from '../memory-recorder.js';
import { type NewObject, namespaceOf, type Source } from '../object/object.js';
import { ObjectAccess } from '../object/object-access.js';
import { mintHandle, type ObjectHandle } from '../object/object-handle.js';
import { ObjectRepository } from '../object/object-repository.js';
import { newVersion } from '../object/objects.js';
import { Payloads } from '../payloads.js';
import { createSpec, parseMemorySpec } from '../specs.js';
import { ViewRepository } from '../view/view-repository.js';
import { VisibleVersions } from '../view/visible-versions.js';

@injectable()
export class CreateObject {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(Payloads) private readonly payloads: Payloads,
    @inject(HolderLookup) private readonly holders: HolderLookup,
    @inject(Authorizer) private readonly warrants: Authorizer,
    @inject(CapabilityRepository) private readonly capabilities: CapabilityRepository,
    @inject(ObjectAccess) private readonly access: ObjectAccess,
    @inject(ObjectRepository) private readonly objects: ObjectRepository,
    @inject(ViewRepository) private readonly viewRows: ViewRepository,
    @inject(VisibleVersions) private readonly shown: VisibleVersions,
    @inject(MemoryRecorder) private readonly journal: MemoryRecorder,
    @inject(IdSource) private readonly ids: IdSource,
  ) {}

  /**
   * Makes an object in the process's own namespace, or in a shared one that it may create in, and puts it into its view.
   * Throws CAPABILITY_DENIED, CONFLICT for a name that is taken, NO_SUCH_OBJECT for a source that it may not read.
   */
  async run(caller: Caller, pid: Pid, given: unknown): Promise<ObjectHandle> {
    const spec = parseMemorySpec(createSpec, given, 'spec', this.payloads.specLimits);
    const payload = this.payloads.copied(spec.payload, 'spec.payload');
    const namespace = spec.namespace ?? namespaceOf(pid);
    const call: Call = { caller, actor: pid, action: 'memory.create', target: pid };
    return this.units.commit(call, async (tx, act) => {
      const id: ObjectId = this.ids.next('object');
      const place = parseRequest(`ns:${namespace}/${id}`);
      const warrant = await this.warrants.authorize(tx, act, plainQuestion(pid, 'create', place));
      const { view } = await this.holders.live(tx, pid);
      await this.assertFree(tx, namespace, spec.name);
      const { sources, readings } = await this.sources(tx, act, pid, spec.sources);
      const object: NewObject = {
        id,
        namespace,
        ...described(spec),
        createdBy: pid,
        createdAt: act.at,
        deletedAt: null,
        ...newVersion(1, payload, sources.length === 0 ? null : sources, pid, act.at),
      };
      await this.objects.insert(tx, object);
      const rights = await this.rightsBy(tx, warrant);
      await this.viewRows.addEntry(tx, view, { object: id, capability: warrant.capability, rights });
      this.journal.created(tx, act, pid, object, warrant, readings);
      return mintHandle(id, rightsOfMask(rights), warrant.capability);
    });
  }

  private async assertFree(tx: WriteTx, namespace: string, name: string | undefined): Promise<void> {
    const taken = name === undefined ? undefined : await this.objects.named(tx, namespace, name);
    if (taken !== undefined) throw nameTaken(namespace, name ?? '', taken);
  }

  /** What it is made from, as the process sees it, and by what it reads that. */
  private async sources(tx: WriteTx, act: Act, pid: Pid, refs: readonly ObjectId[]) {
    const sources: Source[] = [];
    const readings: Authorization[] = [];
    for (const ref of new Set(refs)) {
      const { object, warrant } = await this.access.take(tx, act, pid, ref, 'read');
      sources.push(await this.shown.sourceOf(tx, pid, object));
      readings.push(warrant);
    }
    return { sources, readings };
  }

  private async rightsBy(tx: WriteTx, { capability }: Authorization): Promise<number> {
    return (await this.capabilities.find(tx, capability))?.rights ?? 0;
  }
}

function described({ type, name, title, tags, immutable }: z.output<typeof createSpec>) {
  const labels = { name: name ?? null, title: title ?? null, tags: tags === undefined ? null : [...new Set(tags)] };
  return { type, ...labels, immutable };
}

function nameTaken(namespace: string, name: string, object: ObjectId): MemoryError {
  return new MemoryError('CONFLICT', `There is a ${JSON.stringify(name)} in ${namespace} already.`, {
    facts: { namespace, name, object },
    hint: 'Choose another name, or update the object that has it.',
  });
}
