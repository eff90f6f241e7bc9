import { inject, injectable } from 'inversify';
import { CapabilityError, type KernelError } from '../base/errors.js';
import { type CapabilityId, IdSource, type ObjectId, type Pid } from '../base/ids.js';
import type { ReadTx, WriteTx } from '../base/store.js';
import { attenuate, type DerivedAuthority } from './attenuate.js';
import { type Authority, depthDefault, depthLimit } from './capability.js';
import { byPreference, type CapabilityRecord, storedPattern, toAuthority } from './capability-record.js';
import { CapabilityRepository } from './capability-repository.js';
import type { StatedAuthority } from './capability-spec.js';
import { deadSource, inChain, noSuchCapability } from './errors.js';
import { Evaluator } from './evaluator.js';
import { HostRules } from './host-rules.js';
import { parsePattern, parseRequest, type Request } from './resource.js';
import { matches } from './resource-coverage.js';
import { maskOfRights, type Right, rightsOfKind } from './rights.js';

/** Who gets a capability, and what the record says of its origin. */
export interface Receiver {
  readonly pid: Pid;
  readonly generation: number;
  readonly at: number;
}

const ownRights = maskOfRights(rightsOfKind('ns'));
const inheritedRights = maskOfRights(['read', 'diff', 'materialize', 'link', 'grant']);
const readMask = maskOfRights(['read']);

/** Gives and hands on authority, inside the unit of the syscall that does so. */
@injectable()
export class Grants {
  constructor(
    @inject(CapabilityRepository) private readonly repository: CapabilityRepository,
    @inject(Evaluator) private readonly evaluator: Evaluator,
    @inject(HostRules) private readonly rules: HostRules,
    @inject(IdSource) private readonly ids: IdSource,
  ) {}

  /** Stores what the methods below have made. */
  insert(tx: WriteTx, records: readonly CapabilityRecord[]): Promise<void> {
    return this.repository.insert(tx, records);
  }

  /** The one capability that every process is born with: on its own namespace. */
  own(to: Receiver): CapabilityRecord {
    return this.whole(to, `ns:process/${to.pid}/**`, ownRights, { own: true, grantedBy: 'kernel' });
  }

  /** A root grant: authority that comes from nowhere but the host. */
  root(to: Receiver, authority: Authority, grantedBy: string): CapabilityRecord {
    return this.derived(to, { ...authority, depth: 0 }, null, grantedBy);
  }

  /** What the parent gets at a child's end, so that the child's result and what it made stay readable. */
  successor(child: Pid, to: Receiver): CapabilityRecord {
    return this.whole(to, `ns:process/${child}/**`, inheritedRights, { own: false, grantedBy: child });
  }

  /**
   * What comes from a capability of `from`: handed to a child that is being born, delegated to another process, or
   * derived for itself. Throws AMPLIFICATION naming the field that would be wider; for a capability that is named,
   * NO_SUCH_CAPABILITY when `from` does not hold it, and the refusal of a dead one.
   */
  async drawn(tx: ReadTx, from: Pid, to: Receiver, stated: StatedAuthority, how: Drawing): Promise<Drawn> {
    const misses: Miss[] = [];
    for (const parent of await this.candidates(tx, from, stated)) {
      const status = await this.evaluator.status(tx, parent, to.at);
      if (status !== 'live' && stated.from !== undefined) throw deadSource(parent, status);
      const authority = attenuate(toAuthority(parent), stated, how === 'derive' ? 'derive' : 'delegate');
      const miss = (field: string, detail: string) => misses.push({ capability: parent.id, field, detail });
      if ('refused' in authority) miss(authority.refused, authority.detail);
      else if (status !== 'live') miss('status', `the one that would do is ${status}`);
      else if (how === 'delegate' && (await this.isInChain(tx, parent, to.pid))) miss('to', inChain(to.pid));
      else return { record: this.derived(to, authority, parent.id, from), parent: parent.id };
    }
    throw amplification(from, stated, misses);
  }

  /** Whether `pid` holds or gave this capability or one above it: what it gave does not come back to it. */
  async isInChain(tx: ReadTx, record: CapabilityRecord, pid: Pid): Promise<boolean> {
    for (let at: CapabilityRecord | undefined = record; at !== undefined; ) {
      if (at.holder === pid || at.grantedBy === pid) return true;
      at = at.parent === null ? undefined : await this.repository.find(tx, at.parent);
    }
    return false;
  }

  /** Reading one object: derived from the capability by which the giver reads it, or given by the host. */
  async readingOf(tx: ReadTx, object: ObjectId, by: CapabilityId | 'host', to: Receiver): Promise<CapabilityRecord> {
    const stated = {
      pattern: parsePattern(`object:${object}`),
      rights: ['read'],
      grantable: [],
      delegable: false,
    } as const;
    const parent = by === 'host' ? undefined : await this.repository.find(tx, by);
    if (parent === undefined) return this.root(to, { ...stated, maxDepth: depthDefault }, 'host');
    const { depth, maxDepth, expiresAt } = toAuthority(parent);
    const limits = { depth: depth + 1, maxDepth, ...(expiresAt === undefined ? {} : { expiresAt }) };
    if (limits.depth > maxDepth) throw tooDeep(parent, object);
    return this.derived(to, { ...stated, ...limits }, parent.id, parent.holder);
  }

  /** The live capability by which `pid` may read an object; `to: 'grant'`, by which it may hand the reading on. */
  async reading(
    tx: ReadTx,
    pid: Pid,
    object: { readonly id: ObjectId; readonly namespace: string },
    to: 'read' | 'grant',
    now: number,
  ): Promise<CapabilityRecord | undefined> {
    const { id, namespace } = object;
    const request = parseRequest(`ns:${namespace}/${id}`);
    const names = [request, parseRequest(`object:${id}`)];
    if (await this.isUnreadable(tx, pid, names, now)) return undefined;
    const exact = [`ns:${namespace}/**`, `object:${id}`];
    for (const resource of exact) {
      const found = await this.firstLive(tx, await this.repository.heldOn(tx, pid, resource), to, now);
      if (found !== undefined) return found;
    }
    const wider = await this.repository.heldBy(tx, pid, 'ns');
    const matching = wider.filter(({ resource }) => matches(storedPattern(resource), request));
    return this.firstLive(tx, matching, to, now);
  }

  /** A rule against reading is also one against handing the reading on. */
  private async isUnreadable(tx: ReadTx, pid: Pid, names: readonly Request[], now: number): Promise<boolean> {
    const holder = await this.repository.holder(tx, pid);
    return holder !== undefined && (await this.rules.denying(tx, holder, 'read', names, now)).length > 0;
  }

  /** Refuses where what `pid` holds does not meet what an image requires. Throws CAPABILITY_DENIED. */
  async requireAll(tx: ReadTx, pid: Pid, required: readonly Authority[], image: string, now: number): Promise<void> {
    if (required.length === 0) return;
    const held = (await this.live(tx, pid, now)).map(toAuthority);
    for (const { pattern, rights } of required) {
      const stated = { pattern, rights, grantable: [], delegable: false };
      if (held.every((authority) => 'refused' in attenuate(authority, stated, 'derive'))) {
        throw requirement(pid, image, pattern.text, rights);
      }
    }
  }

  private async firstLive(
    tx: ReadTx,
    records: readonly CapabilityRecord[],
    to: 'read' | 'grant',
    now: number,
  ): Promise<CapabilityRecord | undefined> {
    for (const record of records) {
      const mask = to === 'read' ? record.rights : record.grantable;
      if ((mask & readMask) !== 0 && (await this.evaluator.status(tx, record, now)) === 'live') return record;
    }
    return undefined;
  }

  private async live(tx: ReadTx, pid: Pid, now: number): Promise<CapabilityRecord[]> {
    const live: CapabilityRecord[] = [];
    for (const record of await this.repository.heldBy(tx, pid)) {
      if ((await this.evaluator.status(tx, record, now)) === 'live') live.push(record);
    }
    return live;
  }

  private async candidates(tx: ReadTx, from: Pid, stated: StatedAuthority): Promise<CapabilityRecord[]> {
    if (stated.from !== undefined) {
      const named = await this.repository.find(tx, stated.from);
      if (named?.holder !== from) throw noSuchCapability(stated.from);
      return [named];
    }
    return [...(await this.repository.heldBy(tx, from, stated.pattern.kind))].sort(byPreference);
  }

  private whole(
    to: Receiver,
    resource: string,
    rights: number,
    { own, grantedBy }: { readonly own: boolean; readonly grantedBy: string },
  ): CapabilityRecord {
    return {
      id: this.ids.next('capability'),
      holder: to.pid,
      generation: to.generation,
      own,
      resource,
      rights,
      grantable: rights,
      constraints: null,
      uses: null,
      expiresAt: null,
      maxDepth: depthLimit,
      parent: null,
      depth: 0,
      status: 'live',
      sweeping: null,
      grantedBy,
      createdAt: to.at,
    };
  }

  private derived(
    to: Receiver,
    authority: DerivedAuthority,
    parent: CapabilityId | null,
    grantedBy: string,
  ): CapabilityRecord {
    return {
      id: this.ids.next('capability'),
      holder: to.pid,
      generation: to.generation,
      own: false,
      resource: authority.pattern.text,
      rights: maskOfRights(authority.rights),
      grantable: maskOfRights(authority.grantable),
      constraints: authority.constraints ?? null,
      uses: authority.uses ?? null,
      expiresAt: authority.expiresAt ?? null,
      maxDepth: authority.maxDepth,
      parent,
      depth: authority.depth,
      status: 'live',
      sweeping: null,
      grantedBy,
      createdAt: to.at,
    };
  }
}

/** How a capability comes from another one. */
export type Drawing = 'birth' | 'delegate' | 'derive';

export interface Drawn {
  readonly record: CapabilityRecord;
  readonly parent: CapabilityId;
}

type Miss = { readonly capability: CapabilityId; readonly field: string; readonly detail: string };

function amplification(from: Pid, stated: StatedAuthority, misses: readonly Miss[]): KernelError {
  const covering = misses.filter(({ field }) => field !== 'resource');
  const nearest = (covering.length > 0 ? covering : misses).slice(0, 5);
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

function requirement(pid: Pid, image: string, resource: string, rights: readonly Right[]): KernelError {
  return new CapabilityError('CAPABILITY_DENIED', `Image ${image} requires ${rights.join(', ')} on ${resource}.`, {
    facts: { pid, image, resource, rights: [...rights] },
    hint: 'Grant or delegate it in the same call.',
  });
}

function tooDeep(parent: CapabilityRecord, object: ObjectId): KernelError {
  return new CapabilityError(
    'AMPLIFICATION',
    `Reading ${object} cannot be handed on: ${parent.id} is at its last depth.`,
    {
      facts: { field: 'maxDepth', from: parent.holder, capability: parent.id, maxDepth: parent.maxDepth },
      hint: 'Grant the reading anew, with a larger maxDepth.',
    },
  );
}
