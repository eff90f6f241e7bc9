import { inject, injectable } from 'inversify';
import { type AuditRecord, decodeRecord } from '../../audit/audit-record.js';
import { AuditRepository } from '../../audit/audit-repository.js';
import type { ProvenanceGraph, ProvenanceNode, ProvenanceQuery } from '../../audit/query/provenance.js';
import { MemoryError } from '../../base/errors.js';
import type { ObjectId } from '../../base/ids.js';
import { idText, parseSpec } from '../../base/spec.js';
import { type ReadTx, Store } from '../../base/store.js';
import type { ObjectRecord, Source } from './object.js';
import { ObjectRepository } from './object-repository.js';

const nodesMax = 1_000;

/** Follows the sources of an object, from its newest version back. */
@injectable()
export class ObjectProvenance implements ProvenanceQuery {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(ObjectRepository) private readonly objects: ObjectRepository,
    @inject(AuditRepository) private readonly audit: AuditRepository,
  ) {}

  provenance(input: ObjectId): Promise<ProvenanceGraph> {
    const object = parseSpec(idText, input, 'object');
    return this.store.read(async (tx) => {
      const nodes = new Map<ObjectId, ProvenanceNode>();
      const edges: { from: ObjectId; to: ObjectId; version: number }[] = [];
      for (const queue = [object]; queue.length > 0 && nodes.size < nodesMax; ) {
        const next = queue.shift() ?? object;
        const found = nodes.has(next) ? undefined : await this.objects.find(tx, next);
        if (found === undefined) continue;
        nodes.set(next, await this.toNode(tx, found));
        for (const source of await this.sourcesOf(tx, found)) {
          edges.push({ from: next, to: source.object, version: source.version });
          if (source.object !== next) queue.push(source.object);
        }
      }
      if (nodes.size === 0) throw noSuchObject(object);
      return { object, nodes: [...nodes.values()], edges };
    });
  }

  /** Sources of all versions, the newest version first. */
  private async sourcesOf(tx: ReadTx, object: ObjectRecord): Promise<Source[]> {
    const versions = [...(await this.objects.history(tx, object))].reverse();
    return versions.flatMap(({ sources }) => sources ?? []);
  }

  private async toNode(tx: ReadTx, object: ObjectRecord): Promise<ProvenanceNode> {
    const { id: objectId, version, type, hash, madeBy, madeAt } = object;
    const record = await this.findRecord(tx, objectId, version);
    const node = { object: objectId, version, type, hash, madeBy, madeAt };
    if (record === undefined) return node;
    const { action, capability, seq, facts } = record;
    const tool = facts?.tool;
    const capabilityFact = capability === undefined ? {} : { capability };
    return { ...node, action, seq, ...capabilityFact, ...(typeof tool === 'string' ? { tool } : {}) };
  }

  /** The newest record of that version in the main line. */
  private async findRecord(tx: ReadTx, object: ObjectId, version: number): Promise<AuditRecord | undefined> {
    const records = (await this.audit.recordsAbout(tx, object)).map((stored) => decodeRecord(stored, undefined));
    return records.filter(({ facts }) => facts?.version === version && facts.view === undefined).at(-1);
  }
}

function noSuchObject(object: ObjectId): MemoryError {
  return new MemoryError('NO_SUCH_OBJECT', `There is no object ${JSON.stringify(object)}.`, {
    facts: { object },
    hint: 'Objects are named by the records that tell of them: audit.list({ action: "memory.create" }).',
  });
}
