import { inject, injectable } from 'inversify';
import type { CapabilityId, Pid } from '../base/ids.js';
import type { JsonValue } from '../base/json.js';
import type { ReadTx } from '../base/store.js';
import type { CapabilityStatus } from './capability.js';
import { type CapabilityRecord, toAuthority } from './capability-record.js';
import { CapabilityRepository } from './capability-repository.js';
import { accepts } from './constraints.js';
import type { Request } from './resource.js';
import { matches } from './resource-coverage.js';
import type { Right } from './rights.js';

export type DecisionCode =
  | 'ALLOWED'
  | 'NO_CAPABILITY'
  | 'CONSTRAINT'
  | 'EXPIRED'
  | 'SPENT'
  | 'REVOKED'
  | 'PROCESS_ENDED'
  | 'BAD_REQUEST';

/** A capability that came near, and why it does not do. */
export interface NearMiss {
  readonly capability: CapabilityId;
  readonly pattern: string;
  readonly failed: string;
}

export interface Verdict {
  readonly code: DecisionCode;
  readonly capability?: CapabilityId;
  readonly nearest: readonly NearMiss[];
}

const nearestMax = 5;
const deadCodes: Partial<Record<CapabilityStatus, DecisionCode>> = {
  expired: 'EXPIRED',
  spent: 'SPENT',
  revoked: 'REVOKED',
  ended: 'REVOKED',
};

/** Decides by looking at every capability of the process and walking up its chain. No cache, no order. */
@injectable()
export class Evaluator {
  constructor(@inject(CapabilityRepository) private readonly repository: CapabilityRepository) {}

  async decide(tx: ReadTx, pid: Pid, right: Right, request: Request, args: JsonValue, now: number): Promise<Verdict> {
    const holder = await this.repository.holder(tx, pid);
    if (holder === undefined || !holder.live) return { code: 'PROCESS_ENDED', nearest: [] };
    const misses: { code: DecisionCode; miss: NearMiss }[] = [];
    for (const record of await this.repository.heldBy(tx, pid, request.kind)) {
      const failure = await this.failure(tx, record, right, request, args, now);
      if (failure === undefined) return { code: 'ALLOWED', capability: record.id, nearest: [] };
      const { code, failed } = failure;
      misses.push({ code, miss: { capability: record.id, pattern: record.resource, failed } });
    }
    misses.sort((a, b) => rank(b.code) - rank(a.code));
    return { code: misses[0]?.code ?? 'NO_CAPABILITY', nearest: misses.slice(0, nearestMax).map(({ miss }) => miss) };
  }

  /** live(c): its own status, its holder's state and generation, and the same of every one above it. */
  async status(tx: ReadTx, record: CapabilityRecord, now: number): Promise<CapabilityStatus> {
    for (let at: CapabilityRecord | undefined = record; at !== undefined; ) {
      if (at.status !== 'live') return at.status;
      if (at.expiresAt !== null && at.expiresAt <= now) return 'expired';
      if (at.uses === 0) return 'spent';
      const holder = await this.repository.holder(tx, at.holder);
      if (holder === undefined || !holder.live) return 'ended';
      if (!at.own && at.generation < holder.authoritySince) return 'ended';
      at = at.parent === null ? undefined : await this.repository.find(tx, at.parent);
    }
    return 'live';
  }

  private async failure(
    tx: ReadTx,
    record: CapabilityRecord,
    right: Right,
    request: Request,
    args: JsonValue,
    now: number,
  ): Promise<{ code: DecisionCode; failed: string } | undefined> {
    const authority = toAuthority(record);
    if (!matches(authority.pattern, request)) return { code: 'NO_CAPABILITY', failed: 'resource' };
    if (!authority.rights.includes(right)) return { code: 'NO_CAPABILITY', failed: `right ${right}` };
    const status = await this.status(tx, record, now);
    if (status !== 'live') return { code: deadCodes[status] ?? 'REVOKED', failed: status };
    if (authority.constraints === undefined) return undefined;
    const acceptance = accepts(authority.constraints, args);
    return acceptance.ok ? undefined : { code: 'CONSTRAINT', failed: `${acceptance.path}: ${acceptance.reason}` };
  }
}

/** How near a miss is: constraints fail last, so what fails there came nearest. */
function rank(code: DecisionCode): number {
  return code === 'CONSTRAINT' ? 2 : code === 'NO_CAPABILITY' ? 0 : 1;
}
