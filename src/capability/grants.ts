import { inject, injectable } from 'inversify';
import { CapabilityError, type KernelError } from '../base/errors.js';
import { type CapabilityId, IdSource, type ObjectId, type Pid } from '../base/ids.js';
import type { ReadTx, WriteTx } from '../base/store.js';
import { attenuate, type DerivedAuthority } from './attenuate.js';
import { type Authority, depthDefault, depthLimit } from './capability.js';
import { type CapabilityRecord, storedPattern, toAuthority } from './capability-record.js';
import { CapabilityRepository } from './capability-repository.js';
import type { StatedAuthority } from './capability-spec.js';
import { Evaluator } from './evaluator.js';
import { parsePattern, parseRequest } from './resource.js';
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

  /** What `from` hands to another process. Throws AMPLIFICATION naming the field that would be wider. */
  async delegated(tx: ReadTx, from: Pid, to: Receiver, stated: StatedAuthority): Promise<CapabilityRecord> {
    const misses: Miss[] = [];
    for (const parent of await this.candidates(tx, from, stated)) {
      const authority = attenuate(toAuthority(parent), stated, 'delegate');
      if ('refused' in authority) {
        misses.push({ capability: parent.id, field: authority.refused, detail: authority.detail });
      } else if ((await this.evaluator.status(tx, parent, to.at)) === 'live') {
        return this.derived(to, authority, parent.id, from);
      }
    }
    throw amplification(from, stated, misses);
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
    const exact = [`ns:${namespace}/**`, `object:${id}`];
    for (const resource of exact) {
      const found = await this.firstLive(tx, await this.repository.heldOn(tx, pid, resource), to, now);
      if (found !== undefined) return found;
    }
    const request = parseRequest(`ns:${namespace}/${id}`);
    const wider = await this.repository.heldBy(tx, pid, 'ns');
    const matching = wider.filter(({ resource }) => matches(storedPattern(resource), request));
    return this.firstLive(tx, matching, to, now);
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

  /** In the order of choice: unlimited before finite uses, later expiry, smaller depth, smaller id. */
  private async candidates(tx: ReadTx, from: Pid, stated: StatedAuthority): Promise<CapabilityRecord[]> {
    const held = await this.repository.heldBy(tx, from, stated.pattern.kind);
    const named = stated.from === undefined ? held : held.filter(({ id }) => id === stated.from);
    return [...named].sort(
      (a, b) =>
        Number(a.uses !== null) - Number(b.uses !== null) ||
        (b.expiresAt ?? Number.MAX_VALUE) - (a.expiresAt ?? Number.MAX_VALUE) ||
        a.depth - b.depth ||
        (a.id < b.id ? -1 : 1),
    );
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
      grantedBy,
      createdAt: to.at,
    };
  }
}

type Miss = { readonly capability: CapabilityId; readonly field: string; readonly detail: string };

function amplification(from: Pid, stated: StatedAuthority, misses: readonly Miss[]): KernelError {
  const covering = misses.filter(({ field }) => field !== 'resource');
  const nearest = (covering.length > 0 ? covering : misses).slice(0, 5);
  const field = nearest[0]?.field ?? 'resource';
  const detail = nearest[0]?.detail ?? `it holds nothing on ${stated.pattern.text}`;
  return new CapabilityError(
    'AMPLIFICATION',
    `Process ${from} cannot hand on ${stated.rights.join(', ')} on ${stated.pattern.text}: ${detail}.`,
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
