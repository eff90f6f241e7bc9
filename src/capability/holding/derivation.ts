import { inject, injectable } from 'inversify';
import { CapabilityError, type KernelError } from '../../base/errors.js';
import { type CapabilityId, IdSource, type Pid } from '../../base/ids.js';
import type { ReadTx } from '../../base/store.js';
import { Evaluator } from '../decision/evaluator.js';
import { chainProblem, noSuchCapability, sourceNotLive } from '../errors.js';
import { CaseFolding } from '../resource/case-folding.js';
import { type Amplification, attenuate, type DerivedAuthority } from './attenuate.js';
import {
  byPreference,
  type CapabilityRecord,
  newDerivedRecord,
  type Receiver,
  toAuthority,
} from './capability-record.js';
import { CapabilityRepository } from './capability-repository.js';
import type { StatedAuthority } from './capability-spec.js';
import { Holdings } from './holdings.js';

/** The occasion of a derivation: a child is spawned, another process gets it, or the holder keeps a narrower copy. */
export type DerivationKind = 'spawn' | 'delegate' | 'derive';

export interface Derived {
  readonly record: CapabilityRecord;
  readonly parent: CapabilityId;
}

/** Derives capabilities from others: never wider, only from live ones, and never back up their own chain. */
@injectable()
export class Derivation {
  constructor(
    @inject(CapabilityRepository) private readonly repository: CapabilityRepository,
    @inject(Holdings) private readonly holdings: Holdings,
    @inject(CaseFolding) private readonly caseFolding: CaseFolding,
    @inject(Evaluator) private readonly evaluator: Evaluator,
    @inject(IdSource) private readonly ids: IdSource,
  ) {}

  /**
   * The record of a new capability of `to`, derived from one of `from`; it is not stored. Throws AMPLIFICATION naming the
   * field that would be wider; where `stated` names its source, NO_SUCH_CAPABILITY when `from` does not hold it, and
   * CAPABILITY_REVOKED, CAPABILITY_EXPIRED or CAPABILITY_DENIED when it is not live.
   */
  async derive(tx: ReadTx, from: Pid, to: Receiver, stated: StatedAuthority, kind: DerivationKind): Promise<Derived> {
    const how = kind === 'derive' ? 'derive' : 'delegate';
    const misses: Miss[] = [];
    for (const parent of await this.findCandidates(tx, from, to, stated)) {
      const authority = this.attenuate(parent, stated, how);
      const miss = 'exceeded' in authority ? authority : await this.findObstacle(tx, parent, to, kind);
      if (miss !== undefined) misses.push({ capability: parent.id, field: miss.exceeded, detail: miss.detail });
      else if (!('exceeded' in authority)) {
        const record = newDerivedRecord(this.ids.next('capability'), to, authority, parent.id, from);
        return { record, parent: parent.id };
      }
    }
    throw amplification(from, stated, misses.length > 0 ? misses : await this.findNearMisses(tx, from, stated, how));
  }

  /** Whether `pid` holds or gave this capability or one above it; it may then not get it back. */
  async isInChain(tx: ReadTx, record: CapabilityRecord, pid: Pid): Promise<boolean> {
    for (let current: CapabilityRecord | undefined = record; current !== undefined; ) {
      if (current.holder === pid || current.grantedBy === pid) return true;
      current = current.parent === null ? undefined : await this.repository.find(tx, current.parent);
    }
    return false;
  }

  private attenuate(
    parent: CapabilityRecord,
    stated: StatedAuthority,
    how: 'delegate' | 'derive',
  ): DerivedAuthority | Amplification {
    return attenuate(this.caseFolding.foldPattern(toAuthority(parent)), this.caseFolding.foldPattern(stated), how);
  }

  /** Why nothing can be derived from a capability that is wide enough; undefined when something can. */
  private async findObstacle(
    tx: ReadTx,
    parent: CapabilityRecord,
    to: Receiver,
    kind: DerivationKind,
  ): Promise<{ readonly exceeded: string; readonly detail: string } | undefined> {
    const status = await this.evaluator.statusOf(tx, parent, to.at);
    if (status !== 'live') return { exceeded: 'status', detail: `the one that would do is ${status}` };
    if (kind !== 'delegate' || !(await this.isInChain(tx, parent, to.pid))) return undefined;
    return { exceeded: 'to', detail: chainProblem(to.pid) };
  }

  /** Capabilities of `from` on the same kind of resource, with the field in which each is too narrow. */
  private async findNearMisses(
    tx: ReadTx,
    from: Pid,
    stated: StatedAuthority,
    how: 'delegate' | 'derive',
  ): Promise<Miss[]> {
    const misses: Miss[] = [];
    for (const parent of [...(await this.holdings.findNear(tx, from, stated.pattern.kind))].sort(byPreference)) {
      const miss = this.attenuate(parent, stated, how);
      if ('exceeded' in miss) misses.push({ capability: parent.id, field: miss.exceeded, detail: miss.detail });
    }
    return misses;
  }

  private async findCandidates(
    tx: ReadTx,
    from: Pid,
    { at }: Receiver,
    stated: StatedAuthority,
  ): Promise<readonly CapabilityRecord[]> {
    if (stated.from === undefined) {
      return (await this.holdings.findCovering(tx, from, stated.pattern)).sort(byPreference);
    }
    const named = await this.repository.find(tx, stated.from);
    if (named?.holder !== from) throw noSuchCapability(stated.from);
    const status = await this.evaluator.statusOf(tx, named, at);
    if (status !== 'live') throw sourceNotLive(named, status);
    return [named];
  }
}

type Miss = { readonly capability: CapabilityId; readonly field: string; readonly detail: string };

function amplification(from: Pid, stated: StatedAuthority, misses: readonly Miss[]): KernelError {
  const nearest = misses.slice(0, 5);
  const field = nearest[0]?.field ?? 'resource';
  const detail = nearest[0]?.detail ?? `it holds nothing on ${stated.pattern.text}`;
  return new CapabilityError(
    'AMPLIFICATION',
    `Process ${from} cannot give ${stated.rights.join(', ')} on ${stated.pattern.text}: ${detail}.`,
    {
      facts: { field, from, resource: stated.pattern.text, rights: [...stated.rights], nearest },
      hint: `Grant ${from} a delegable capability that covers it, or ask for less.`,
    },
  );
}
