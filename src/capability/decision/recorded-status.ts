import type { LogReader } from '../../audit/query/log-reader.js';
import type { CapabilityId, Pid } from '../../base/ids.js';
import type { JsonObject } from '../../base/json.js';
import type { CapabilityStatus } from '../holding/capability.js';
import { holderAt, type RecordedCapability, receivedAt } from './capability-history.js';
import { isEnd, spawnActions } from './recorded-grants.js';

/** Tells from the log whether capabilities are live. Knows nothing of the tables. */
export class RecordedStatuses {
  private readonly holders = new Map<Pid, RecordedHolder>();

  constructor(
    private readonly log: LogReader,
    private readonly now: number,
  ) {}

  /**
   * The status of the first of a chain that ends with its root grant. It is live when all of them are; otherwise the status is
   * the one that is nearest to it, but a revocation above comes first: as `AuthorityGraph` has it by the tables.
   */
  async statusOf(chain: readonly RecordedCapability[]): Promise<CapabilityStatus> {
    let nearest: CapabilityStatus = 'live';
    for (const capability of chain) {
      const status = await this.ownStatus(capability);
      if (status === 'revoked') return status;
      if (nearest === 'live') nearest = status;
    }
    return nearest;
  }

  private async ownStatus(recorded: RecordedCapability): Promise<CapabilityStatus> {
    const { capability, own, limits } = recorded.grant;
    const changes = new Set((await this.log.changesOf(capability)).map(({ action }) => action));
    if (changes.has('capability.revoke')) return 'revoked';
    if (limits?.expiresAt !== undefined && limits.expiresAt <= this.now) return 'expired';
    if (changes.has('capability.spend')) return 'spent';
    const { hasEnded, programSeq, pruned } = await this.findHolder(holderAt(recorded, Number.MAX_SAFE_INTEGER));
    // Older versions do not tell which execs preserve capabilities.
    const isLeftBehind = own === undefined && limits !== undefined && receivedAt(recorded) < programSeq;
    return hasEnded || isLeftBehind || pruned.has(capability) ? 'ended' : 'live';
  }

  private async findHolder(pid: Pid): Promise<RecordedHolder> {
    const known = this.holders.get(pid);
    if (known !== undefined) return known;
    const state = await this.log.newestState(pid);
    let programSeq = 0;
    const pruned = new Set<CapabilityId>();
    for (const { action, outcome, target, seq, facts } of await this.log.recordsAbout(pid)) {
      if (outcome !== 'ok' || target !== pid) continue;
      if (spawnActions.has(action) || (action === 'process.exec' && !preservesCapabilities(facts))) programSeq = seq;
      if (action === 'capability.prune' && Array.isArray(facts?.capabilities))
        for (const id of facts.capabilities) pruned.add(String(id));
    }
    const holder = { hasEnded: state !== undefined && isEnd(state), programSeq, pruned };
    this.holders.set(pid, holder);
    return holder;
  }
}

/** A process, as far as its capabilities depend on it. */
interface RecordedHolder {
  readonly hasEnded: boolean;
  /** The record of its spawn, or of its newest exec that left its capabilities behind. */
  readonly programSeq: number;
  /** Capabilities that were removed because nothing was left that they are for. */
  readonly pruned: ReadonlySet<CapabilityId>;
}

function preservesCapabilities(facts: JsonObject | undefined): boolean {
  const flags = facts?.flags;
  return typeof flags === 'object' && flags !== null && 'preserveCapabilities' in flags;
}
