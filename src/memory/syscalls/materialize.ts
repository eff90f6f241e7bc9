import { inject, injectable } from 'inversify';
import { z } from 'zod';
import { Clock, type KernelClock } from '../../base/clock.js';
import type { ObjectId, Pid } from '../../base/ids.js';
import type { JsonObject } from '../../base/json.js';
import { amount, storedText } from '../../base/spec.js';
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
import { type ContextOrder, compareByOrder, contextEnds, renderHeading, renderPayload } from '../rendering.js';
import { parseMemorySpec } from '../specs.js';
import { TokenCounter } from '../tokens/token-counter.js';
import { Views } from '../view/views.js';
import { VisibleVersions } from '../view/visible-versions.js';

/** Why an object is in a context, or is not. */
export type ManifestReason = 'selected' | 'token_budget' | 'capability_denied' | 'filter' | 'missing';

/** One object of the view: whether it is in the context, and why not. */
export interface ManifestEntry {
  readonly object: ObjectId;
  /** Whether it is in the text. */
  readonly included: boolean;
  /** Why it is in the text, or is not. */
  readonly reason: ManifestReason;
  readonly version: number;
  readonly hash: string;
  /** The tokens that it takes in the text. */
  readonly tokens: number;
}

/** The view of a process as text for a model. */
export interface MaterializedContext {
  readonly text: string;
  /** The tokens of the text. */
  readonly tokens: number;
  /** The counter of the tokens: the name of a tokenizer, or `estimate`. */
  readonly countedBy: string;
  /** Every object that was considered. */
  readonly manifest: readonly ManifestEntry[];
}

/** An object of the view, and the place of the version that the process sees. */
interface ViewedObject extends StoredObject {
  /** The view whose overlay the version is from; null for the main line. */
  readonly view: number | null;
  /** Whether its tokens were counted by the counter of the store. */
  readonly isCounted: boolean;
}

const options = z.strictObject({
  tokensMax: amount,
  query: storedText.min(1).max(4096).optional(),
  types: z.array(z.enum(objectTypes)).optional(),
  order: z.enum(['plan', 'evidence', 'recent', 'errors'] satisfies ContextOrder[]).default('plan'),
});
const pageRows = 200;
/** The number of manifest entries in the audit record. */
const recordedEntriesMax = 1_000;
/** The number of counts that one call adds to objects that were written without. */
const countsAddedMax = 1_000;

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
    @inject(TokenCounter) private readonly counter: TokenCounter,
    @inject(MemoryCharges) private readonly charges: MemoryCharges,
    @inject(MemoryRecorder) private readonly recorder: MemoryRecorder,
  ) {}

  /** The text has at most `tokensMax` tokens; the manifest lists every object of the view. Throws BUDGET_EXCEEDED. */
  async run(caller: Caller, pid: Pid, input: unknown): Promise<MaterializedContext> {
    const { tokensMax, order, ...filter } = parseMemorySpec(options, input, 'options');
    const { readable, omitted } = await this.collect(caller, pid);
    const [unsorted, filteredOut] = await this.select(filter, readable);
    const selected = await sortInTurns(unsorted, compareByOrder(order));
    const { text, tokens, chosen, counts, added } = await this.fill(selected, tokensMax);
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
      for (const { object, tokens } of added) await this.objects.setTokens(tx, object, tokens);
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
    return { text, tokens, countedBy: this.counter.name, manifest };
  }

  /** The objects that the filter selects, and the others. */
  private async select(filter: Filter, objects: readonly ViewedObject[]): Promise<[ViewedObject[], ViewedObject[]]> {
    const turns = new Turns();
    const [selected, others]: [ViewedObject[], ViewedObject[]] = [[], []];
    for (const object of objects) {
      await turns.next();
      (selects(filter, object) ? selected : others).push(object);
    }
    return [selected, others];
  }

  /** The objects of the view that may be materialized, and manifest entries for the others. */
  private async collect(caller: Caller, pid: Pid) {
    const readable: ViewedObject[] = [];
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

  private async readOrOmit(tx: ReadTx, caller: Caller, pid: Pid, id: ObjectId): Promise<ViewedObject | ManifestEntry> {
    const context = { via: caller.face, at: this.clock.peek() };
    const accessed = await this.access.tryPreview(tx, context, pid, id, 'materialize');
    if (accessed !== undefined && accessed.authorization.counted === 0) {
      const { version, view } = await this.visibleVersions.findForProcess(tx, pid, accessed.object);
      return { ...toStoredObject(accessed.object, version), view, isCounted: version.isCounted };
    }
    const object = await this.objects.find(tx, id);
    const exists = object !== undefined && object.deletedAt === null;
    const reason = exists ? 'capability_denied' : 'missing';
    return { object: id, included: false, reason, version: 0, hash: '', tokens: 0 };
  }

  /**
   * Adds objects in order while they fit, and skips those that do not. Payloads were counted when they were written; only
   * headings and lines between objects are counted here. Yields to the event loop between objects.
   */
  private async fill(objects: readonly ViewedObject[], tokensMax: number) {
    const counts = new Map<ObjectId, number>();
    const added: { readonly object: ViewedObject; readonly tokens: number }[] = [];
    const chosen = new Set<ObjectId>();
    const parts: string[] = [];
    const [last, between] = [this.counter.count(contextEnds.last), this.counter.count(contextEnds.between)];
    let used = 0;
    const turns = new Turns();
    for (const object of objects) {
      await turns.next();
      const heading = renderHeading(object);
      const payload = object.isCounted ? object : this.counter.countPayload(object.payload);
      if (!object.isCounted && payload.isCounted && added.length < countsAddedMax)
        added.push({ object, tokens: payload.tokens });
      const tokens = this.counter.count(heading) + payload.tokens + last;
      counts.set(object.id, tokens);
      // The object before this one is not the last any more.
      const more = parts.length === 0 ? tokens : tokens + between - last;
      if (used + more > tokensMax) continue;
      used += more;
      chosen.add(object.id);
      parts.push(heading + renderPayload(object.payload));
    }
    const text = parts.length === 0 ? '' : parts.join(contextEnds.between) + contextEnds.last;
    return { text, tokens: used, chosen, counts, added };
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
