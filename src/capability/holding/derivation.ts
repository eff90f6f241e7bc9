import { inject, injectable } from 'inversify';
import { CapabilityError, type KernelError } from '../../base/errors.js';
import { type CapabilityId, IdSource, type Pid } from '../../base/ids.js';
import type { ReadTx } from '../../base/store.js';
import { Evaluator } from '../decision/evaluator.js';
import { deadSource, inChain, noSuchCapability } from '../errors.js';
import { CaseFolding } from '../resource/case-folding.js';
import { type Amplification, attenuate, type DerivedAuthority } from './attenuate.js';
import { byPreference, type CapabilityRecord, toAuthority } from './capability-record.js';
import { CapabilityRepository } from './capability-repository.js';
import type { StatedAuthority } from './capability-spec.js';
import { Holdings } from './holdings.js';
import { derivedRecord, type Receiver } from './new-record.js';

/** How a capability comes from another one. */
export type DerivationKind = 'birth' | 'delegate' | 'derive';

export interface Derived {
  readonly record: CapabilityRecord;
  readonly parent: CapabilityId;
}

/** Draws capabilities from others: narrower ones, from live ones, and never back up their own chain. */
@injectable()
export class Derivation {
  constructor(
    @inject(CapabilityRepository) private readonly repository: CapabilityRepository,
    @inject(Holdings) private readonly held: Holdings,
    @inject(CaseFolding) private readonly names: CaseFolding,
    @inject(Evaluator) private readonly evaluator: Evaluator,
    @inject(IdSource) private readonly ids: IdSource,
  ) {}

  /**
   * What comes from a capability of `from`: handed to a child that is being born, delegated to another process, or
   * derived for itself. Throws AMPLIFICATION naming the field that would be wider; for a capability that is named,
   * NO_SUCH_CAPABILITY when `from` does not hold it, and the refusal of a dead one.
   */
  async drawn(tx: ReadTx, from: Pid, to: Receiver, stated: StatedAuthority, how: DerivationKind): Promise<Derived> {
    const manner = how === 'derive' ? 'derive' : 'delegate';
    const misses: Miss[] = [];
    for (const parent of await this.candidates(tx, from, to, stated)) {
      const authority = this.attenuated(parent, stated, manner);
      const miss = 'refused' in authority ? authority : await this.obstacle(tx, parent, to, how);
      if (miss !== undefined) misses.push({ capability: parent.id, field: miss.refused, detail: miss.detail });
      else if (!('refused' in authority)) {
        const record = derivedRecord(this.ids.next('capability'), to, authority, parent.id, from);
        return { record, parent: parent.id };
      }
    }
    throw amplification(from, stated, misses.length > 0 ? misses : await this.near(tx, from, stated, manner));
  }

  /** Whether `pid` holds or gave this capability or one above it: what it gave does not come back to it. */
  async isInChain(tx: ReadTx, record: CapabilityRecord, pid: Pid): Promise<boolean> {
    for (let at: CapabilityRecord | undefined = record; at !== undefined; ) {
      if (at.holder === pid || at.grantedBy === pid) return true;
      at = at.parent === null ? undefined : await this.repository.find(tx, at.parent);
    }
    return false;
  }

  private attenuated(
    parent: CapabilityRecord,
    stated: StatedAuthority,
    how: 'delegate' | 'derive',
  ): DerivedAuthority | Amplification {
    return attenuate(this.names.withPattern(toAuthority(parent)), this.names.withPattern(stated), how);
  }

  /** Why nothing can be drawn from one that covers what is asked. */
  private async obstacle(
    tx: ReadTx,
    parent: CapabilityRecord,
    to: Receiver,
    how: DerivationKind,
  ): Promise<{ readonly refused: string; readonly detail: string } | undefined> {
    const status = await this.evaluator.status(tx, parent, to.at);
    if (status !== 'live') return { refused: 'status', detail: `the one that would do is ${status}` };
    if (how !== 'delegate' || !(await this.isInChain(tx, parent, to.pid))) return undefined;
    return { refused: 'to', detail: inChain(to.pid) };
  }

  /** What is held on the same kind of resource and does not cover it. */
  private async near(tx: ReadTx, from: Pid, stated: StatedAuthority, how: 'delegate' | 'derive'): Promise<Miss[]> {
    const misses: Miss[] = [];
    for (const parent of [...(await this.held.near(tx, from, stated.pattern.kind))].sort(byPreference)) {
      const miss = this.attenuated(parent, stated, how);
      if ('refused' in miss) misses.push({ capability: parent.id, field: miss.refused, detail: miss.detail });
    }
    return misses;
  }

  private async candidates(
    tx: ReadTx,
    from: Pid,
    { at }: Receiver,
    stated: StatedAuthority,
  ): Promise<readonly CapabilityRecord[]> {
    if (stated.from === undefined) {
      return (await this.held.covering(tx, from, stated.pattern)).sort(byPreference);
    }
    const named = await this.repository.find(tx, stated.from);
    if (named?.holder !== from) throw noSuchCapability(stated.from);
    const status = await this.evaluator.status(tx, named, at);
    if (status !== 'live') throw deadSource(named, status);
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
