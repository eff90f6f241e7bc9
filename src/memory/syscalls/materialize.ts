import { inject, injectable } from 'inversify';
import { z } from 'zod';
import { Clock, type KernelClock } from '../../base/clock.js';
import type { ObjectId, Pid } from '../../base/ids.js';
import type { JsonObject } from '../../base/json.js';
import { amount } from '../../base/spec.js';
import { type ReadTx, Store } from '../../base/store.js';
import { sortInTurns, Turns } from '../../base/turns.js';
import { HolderLookup } from '../../capability/holding/holders.js';
import type { Call, Caller } from '../../unit/caller.js';
import { Units } from '../../unit/units.js';
import { MemoryCharges } from '../memory-charges.js';
import { MemoryRecorder } from '../memory-recorder.js';
import { objectTypes, type StoredObject, toStoredObject } from '../object/object.js';
import { noVisibleObject, ObjectAccess } from '../object/object-access.js';
import { ObjectRepository } from '../object/object-repository.js';
import { type ContextOrder, compareByOrder, renderObject } from '../rendering.js';
import { parseMemorySpec } from '../specs.js';
import { Tokenizer } from '../tokenizer.js';
import { Views } from '../view/views.js';
import { VisibleVersions } from '../view/visible-versions.js';

export type ManifestReason = 'selected' | 'token_budget' | 'capability_denied' | 'filter' | 'missing';

/** One object of the view: whether it is in the context, and why not. */
export interface ManifestEntry {
  readonly object: ObjectId;
  readonly included: boolean;
  readonly reason: ManifestReason;
  readonly version: number;
  readonly hash: string;
  readonly tokens: number;
}

export interface MaterializedContext {
  readonly text: string;
  readonly tokens: number;
  readonly manifest: readonly ManifestEntry[];
}

const options = z.strictObject({
  tokensMax: amount,
  query: z.string().min(1).max(4096).optional(),
  types: z.array(z.enum(objectTypes)).optional(),
  order: z.enum(['plan', 'evidence', 'recent', 'errors'] satisfies ContextOrder[]).default('plan'),
});
const pageRows = 200;
/** The number of manifest entries in the audit record. */
const recordedEntriesMax = 1_000;

/** Renders the view of a process as context for a model. */
@injectable()
export class Materialize {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(Units) private readonly units: Units,
    @inject(HolderLookup) private readonly holders: HolderLookup,
    @inject(ObjectAccess) private readonly access: ObjectAccess,
    @inject(ObjectRepository) private readonly objects: ObjectRepository,
    @inject(VisibleVersions) private readonly visibleVersions: VisibleVersions,
    @inject(Views) private readonly views: Views,
    @inject(Tokenizer) private readonly tokenizer: Tokenizer,
    @inject(MemoryCharges) private readonly charges: MemoryCharges,
    @inject(MemoryRecorder) private readonly recorder: MemoryRecorder,
  ) {}

  /** The text has at most `tokensMax` tokens; the manifest lists every object of the view. Throws BUDGET_EXCEEDED. */
  async run(caller: Caller, pid: Pid, input: unknown): Promise<MaterializedContext> {
    const { tokensMax, order, ...filter } = parseMemorySpec(options, input, 'options');
    await this.tokenizer.load();
    const { readable, omitted } = await this.collect(caller, pid);
    const [unsorted, filteredOut] = await this.select(filter, readable);
    const selected = await sortInTurns(unsorted, compareByOrder(order));
    const { text, tokens, chosen, counts } = await this.fill(selected, tokensMax);
    const turns = new Turns();
    const manifest: ManifestEntry[] = [];
    for (const object of selected) {
      await turns.next();
      manifest.push(toEntry(object, chosen.has(object.id) ? 'selected' : 'token_budget', counts));
    }
    for (const object of filteredOut) {
      await turns.next();
      manifest.push(toEntry(object, 'filter', counts));
    }
    for (const entry of omitted) manifest.push(entry);
    const call: Call = { caller, actor: pid, action: 'memory.materialize', target: pid };
    await this.units.commit(call, async (tx, act) => {
      const { generation } = await this.holders.findLive(tx, pid);
      await this.charges.chargeTokens(tx, pid, act.at, tokens);
      const data = { tokens, included: chosen.size, omitted: manifest.length - chosen.size };
      const change = { event: 'context.materialized', data, action: call.action } as const;
      const recordedManifest = manifest.slice(0, recordedEntriesMax) as readonly object[] as JsonObject[];
      this.recorder.recordChange(
        tx,
        act,
        pid,
        change,
        { capability: 'kin', generation },
        { ...data, tokensMax, manifest: recordedManifest },
      );
    });
    return { text, tokens, manifest };
  }

  /** The objects that the filter selects, and the others. */
  private async select(filter: Filter, objects: readonly StoredObject[]): Promise<[StoredObject[], StoredObject[]]> {
    const turns = new Turns();
    const [selected, others]: [StoredObject[], StoredObject[]] = [[], []];
    for (const object of objects) {
      await turns.next();
      (selects(filter, object) ? selected : others).push(object);
    }
    return [selected, others];
  }

  /** The objects of the view that may be materialized, and manifest entries for the others. */
  private async collect(caller: Caller, pid: Pid) {
    const readable: StoredObject[] = [];
    const omitted: ManifestEntry[] = [];
    const turns = new Turns();
    for (let after: ObjectId | undefined = ''; after !== undefined; ) {
      const from: ObjectId = after;
      after = await this.store.read(async (tx) => {
        const view = await this.views.find(tx, (await this.holders.findLive(tx, pid)).view);
        if (view === undefined) throw noVisibleObject(pid, 'view');
        const { ids, last } = await this.views.page(tx, view, from, pageRows);
        for (const id of ids) {
          await turns.next();
          const result = await this.readOrOmit(tx, caller, pid, id);
          if ('payload' in result) readable.push(result);
          else omitted.push(result);
        }
        return last;
      });
    }
    return { readable, omitted };
  }

  private async readOrOmit(tx: ReadTx, caller: Caller, pid: Pid, id: ObjectId): Promise<StoredObject | ManifestEntry> {
    const context = { via: caller.face, at: this.clock.peek() };
    const accessed = await this.access.tryPreview(tx, context, pid, id, 'materialize');
    if (accessed !== undefined && accessed.authorization.counted === 0) {
      const { version } = await this.visibleVersions.findForProcess(tx, pid, accessed.object);
      return toStoredObject(accessed.object, version);
    }
    const object = await this.objects.find(tx, id);
    const exists = object !== undefined && object.deletedAt === null;
    const reason = exists ? 'capability_denied' : 'missing';
    return { object: id, included: false, reason, version: 0, hash: '', tokens: 0 };
  }

  /** Adds objects in order while they fit, and skips those that do not. Yields to the event loop between them. */
  private async fill(objects: readonly StoredObject[], tokensMax: number) {
    const counts = new Map<ObjectId, number>();
    const parts: { readonly id: ObjectId; readonly text: string; readonly tokens: number }[] = [];
    let used = 0;
    const turns = new Turns();
    for (const object of objects) {
      await turns.next();
      const text = renderObject(object);
      const tokens = this.tokenizer.count(text);
      counts.set(object.id, tokens);
      if (used + tokens > tokensMax) continue;
      parts.push({ id: object.id, text, tokens });
      used += tokens;
    }
    // Joined parts can count for a few tokens more than apart: the joined text must fit.
    for (;;) {
      const text = parts.map((part) => part.text).join('\n');
      const tokens = text === '' ? 0 : this.tokenizer.count(text);
      if (tokens <= tokensMax) return { text, tokens, chosen: new Set(parts.map(({ id }) => id)), counts };
      for (let over = tokens - tokensMax; over > 0; ) over -= parts.pop()?.tokens ?? over;
    }
  }
}

type Filter = Pick<z.output<typeof options>, 'query' | 'types'>;

function selects({ query, types }: Filter, { type, name, title, tags, payload }: StoredObject): boolean {
  if (types !== undefined && !types.includes(type)) return false;
  if (query === undefined) return true;
  const text = [name, title, ...tags, JSON.stringify(payload)].join('\n').toLowerCase();
  return text.includes(query.toLowerCase());
}

function toEntry(
  { id: object, version, hash, tokens }: StoredObject,
  reason: ManifestReason,
  counts: ReadonlyMap<ObjectId, number>,
): ManifestEntry {
  return { object, included: reason === 'selected', reason, version, hash, tokens: counts.get(object) ?? tokens };
}
