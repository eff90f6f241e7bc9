import { performance } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';
import { inject, injectable } from 'inversify';
import { z } from 'zod';
import { Clock, type KernelClock } from '../../base/clock.js';
import type { ObjectId, Pid } from '../../base/ids.js';
import type { JsonObject } from '../../base/json.js';
import { amount } from '../../base/spec.js';
import { type ReadTx, Store } from '../../base/store.js';
import { HolderLookup } from '../../capability/holding/holders.js';
import type { Call, Caller } from '../../unit/caller.js';
import { Units } from '../../unit/units.js';
import { MemoryRecorder } from '../memory-recorder.js';
import { objectTypes } from '../object/object.js';
import { ObjectAccess, unseen } from '../object/object-access.js';
import { ObjectRepository } from '../object/object-repository.js';
import { type StoredObject, toStored } from '../object/stored-object.js';
import { byOrder, type ContextOrder, rendered } from '../rendering.js';
import { parseMemorySpec } from '../specs.js';
import { TokenCharges } from '../token-charges.js';
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
/** How long counting may keep others waiting. */
const turnMs = 10;
/** Of the manifest, what the audit keeps of each record. */
const recordedMax = 1_000;

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
    @inject(VisibleVersions) private readonly versions: VisibleVersions,
    @inject(Views) private readonly views: Views,
    @inject(Tokenizer) private readonly tokenizer: Tokenizer,
    @inject(TokenCharges) private readonly charges: TokenCharges,
    @inject(MemoryRecorder) private readonly journal: MemoryRecorder,
  ) {}

  /** Never longer than `tokensMax`; the manifest tells of every object of the view. Throws BUDGET_EXCEEDED. */
  async run(caller: Caller, pid: Pid, given: unknown): Promise<MaterializedContext> {
    const { tokensMax, order, ...filter } = parseMemorySpec(options, given, 'options');
    await this.tokenizer.load();
    const { seen, unused } = await this.collected(caller, pid);
    const wanted = seen.filter((object) => selects(filter, object));
    const left = seen.filter((object) => !selects(filter, object));
    const { text, tokens, chosen, counts } = await this.filled(wanted.sort(byOrder(order)), tokensMax);
    const manifest = [
      ...wanted.map((object) => entry(object, chosen.has(object.id) ? 'selected' : 'token_budget', counts)),
      ...left.map((object) => entry(object, 'filter', counts)),
      ...unused,
    ];
    const call: Call = { caller, actor: pid, action: 'memory.materialize', target: pid };
    await this.units.commit(call, async (tx, act) => {
      const { generation } = await this.holders.live(tx, pid);
      await this.charges.charge(tx, pid, act.at, tokens);
      const data = { tokens, included: chosen.size, omitted: manifest.length - chosen.size };
      const told = { event: 'context.materialized', data, action: call.action } as const;
      const kept = manifest.slice(0, recordedMax) as readonly object[] as JsonObject[];
      this.journal.did(tx, act, pid, told, { capability: 'kin', generation }, { ...data, tokensMax, manifest: kept });
    });
    return { text, tokens, manifest };
  }

  /** Everything in the view, as far as it may be shown. */
  private async collected(caller: Caller, pid: Pid) {
    const seen: StoredObject[] = [];
    const unused: ManifestEntry[] = [];
    for (let after: ObjectId | undefined = ''; after !== undefined; ) {
      const from: ObjectId = after;
      after = await this.store.read(async (tx) => {
        const view = await this.views.find(tx, (await this.holders.live(tx, pid)).view);
        if (view === undefined) throw unseen(pid, 'view');
        const { ids, last } = await this.views.page(tx, view, from, pageRows);
        for (const id of ids) {
          const shown = await this.shown(tx, caller, pid, id);
          if ('payload' in shown) seen.push(shown);
          else unused.push(shown);
        }
        return last;
      });
    }
    return { seen, unused };
  }

  private async shown(tx: ReadTx, caller: Caller, pid: Pid, id: ObjectId): Promise<StoredObject | ManifestEntry> {
    const asking = { via: caller.face, at: this.clock.peek() };
    const accessed = await this.access.tried(tx, asking, pid, id, 'materialize');
    if (accessed !== undefined && accessed.warrant.counted === 0) {
      return toStored(accessed.object, (await this.versions.seenBy(tx, pid, accessed.object)).version);
    }
    const object = await this.objects.find(tx, id);
    const isThere = object !== undefined && object.deletedAt === null;
    const reason = isThere ? 'capability_denied' : 'missing';
    return { object: id, included: false, reason, version: 0, hash: '', tokens: 0 };
  }

  /** Takes one after another while there is room; what does not fit is passed over. Others get their turns meanwhile. */
  private async filled(objects: readonly StoredObject[], tokensMax: number) {
    const counts = new Map<ObjectId, number>();
    const parts: { readonly id: ObjectId; readonly text: string; readonly tokens: number }[] = [];
    let used = 0;
    let since = performance.now();
    for (const object of objects) {
      if (performance.now() - since > turnMs) {
        await setImmediate();
        since = performance.now();
      }
      const text = rendered(object);
      const tokens = this.tokenizer.count(text);
      counts.set(object.id, tokens);
      if (used + tokens > tokensMax) continue;
      parts.push({ id: object.id, text, tokens });
      used += tokens;
    }
    // Parts may count for a token more or less when they stand together: the whole is what must fit.
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

function entry(
  { id: object, version, hash, tokens }: StoredObject,
  reason: ManifestReason,
  counts: ReadonlyMap<ObjectId, number>,
): ManifestEntry {
  return { object, included: reason === 'selected', reason, version, hash, tokens: counts.get(object) ?? tokens };
}
