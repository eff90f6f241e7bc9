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
import { MemoryCharges } from '../memory-charges.js';
import { MemoryRecorder } from '../memory-recorder.js';
import { mintHandle, type NewObject, namespaceOf, type ObjectHandle, type Source } from '../object/object.js';
import { ObjectAccess } from '../object/object-access.js';
import { ObjectRepository } from '../object/object-repository.js';
import { newVersion, PayloadParser, storedBytesOf } from '../object/object-writer.js';
import { createSpec, parseMemorySpec } from '../specs.js';
import { TokenCounter } from '../tokens/token-counter.js';
import { ViewRepository } from '../view/view-repository.js';
import { VisibleVersions } from '../view/visible-versions.js';

@injectable()
export class CreateObject {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(PayloadParser) private readonly payloadParser: PayloadParser,
    @inject(HolderLookup) private readonly holders: HolderLookup,
    @inject(Authorizer) private readonly authorizer: Authorizer,
    @inject(CapabilityRepository) private readonly capabilities: CapabilityRepository,
    @inject(ObjectAccess) private readonly access: ObjectAccess,
    @inject(ObjectRepository) private readonly objects: ObjectRepository,
    @inject(ViewRepository) private readonly views: ViewRepository,
    @inject(VisibleVersions) private readonly visibleVersions: VisibleVersions,
    @inject(MemoryCharges) private readonly charges: MemoryCharges,
    @inject(MemoryRecorder) private readonly recorder: MemoryRecorder,
    @inject(IdSource) private readonly ids: IdSource,
    @inject(TokenCounter) private readonly counter: TokenCounter,
  ) {}

  /**
   * Creates an object in the process's own namespace, or in a shared one that it may create in, and adds it to its view
   * unless `inView` is false.
   * Throws CAPABILITY_DENIED, BUDGET_EXCEEDED, CONFLICT for a name that is taken, NO_SUCH_OBJECT for a source that it may not read.
   */
  async run(caller: Caller, pid: Pid, input: unknown): Promise<ObjectHandle> {
    const spec = parseMemorySpec(createSpec, input, 'spec', this.payloadParser.specLimits);
    const payload = this.payloadParser.parse(spec.payload, 'spec.payload');
    const counted = this.counter.countPayload(payload);
    const namespace = spec.namespace ?? namespaceOf(pid);
    const call: Call = { caller, actor: pid, action: 'memory.create', target: pid };
    return this.units.commit(call, async (tx, act) => {
      const id: ObjectId = this.ids.next('object');
      const resource = parseRequest(`ns:${namespace}/${id}`);
      const authorization = await this.authorizer.authorize(tx, act, plainQuestion(pid, 'create', resource));
      const { view } = await this.holders.findLive(tx, pid);
      await this.assertNameFree(tx, namespace, spec.name);
      const { sources, authorizations } = await this.readSources(tx, act, pid, spec.sources);
      const object: NewObject = {
        id,
        namespace,
        ...descriptionOf(spec),
        createdBy: pid,
        createdAt: act.at,
        deletedAt: null,
        ...newVersion(1, payload, counted, sources.length === 0 ? null : sources, pid, act.at),
      };
      await this.charges.chargeStored(tx, pid, storedBytesOf(object));
      await this.objects.insert(tx, object);
      const rights = await this.rightsOf(tx, authorization);
      const entry = { object: id, capability: authorization.capability, rights };
      if (spec.inView) await this.views.addEntry(tx, view, entry);
      this.recorder.recordCreate(tx, act, pid, object, authorization, authorizations);
      return mintHandle(id, rightsOfMask(rights), authorization.capability);
    });
  }

  private async assertNameFree(tx: WriteTx, namespace: string, name: string | undefined): Promise<void> {
    const existing = name === undefined ? undefined : await this.objects.findByName(tx, namespace, name);
    if (existing !== undefined) throw nameTaken(namespace, name ?? '', existing);
  }

  /** The versions of the sources that the process sees, and the authorizations to read them. */
  private async readSources(tx: WriteTx, act: Act, pid: Pid, refs: readonly ObjectId[]) {
    const sources: Source[] = [];
    const authorizations: Authorization[] = [];
    for (const ref of new Set(refs)) {
      const { object, authorization } = await this.access.authorize(tx, act, pid, ref, 'read');
      sources.push(await this.visibleVersions.sourceOf(tx, pid, object));
      authorizations.push(authorization);
    }
    return { sources, authorizations };
  }

  private async rightsOf(tx: WriteTx, { capability }: Authorization): Promise<number> {
    return (await this.capabilities.find(tx, capability))?.rights ?? 0;
  }
}

function descriptionOf({ type, name, title, tags, immutable }: z.output<typeof createSpec>) {
  const labels = { name: name ?? null, title: title ?? null, tags: tags === undefined ? null : [...new Set(tags)] };
  return { type, ...labels, immutable };
}

function nameTaken(namespace: string, name: string, object: ObjectId): MemoryError {
  return new MemoryError('CONFLICT', `There is a ${JSON.stringify(name)} in ${namespace} already.`, {
    facts: { namespace, name, object },
    hint: 'Choose another name, or update the object that has it.',
  });
}
