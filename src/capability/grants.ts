import { inject, injectable } from 'inversify';
import { CapabilityError, type KernelError } from '../base/errors.js';
import { type CapabilityId, IdSource, type ObjectId, type Pid } from '../base/ids.js';
import type { ReadTx, WriteTx } from '../base/store.js';
import { attenuate } from './attenuate.js';
import { type Authority, depthLimit } from './capability.js';
import { type CapabilityRecord, fromAuthority, storedPattern, toAuthority } from './capability-record.js';
import { CapabilityRepository } from './capability-repository.js';
import type { StatedAuthority } from './capability-spec.js';
import { Evaluator } from './evaluator.js';
import { parseRequest } from './resource.js';
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
const readOnly = maskOfRights(['read']);

/** Gives and hands on authority, inside the unit of the syscall that does so. */
@injectable()
export class Grants {
  constructor(
    @inject(CapabilityRepository) private readonly repository: CapabilityRepository,
    @inject(Evaluator) private readonly evaluator: Evaluator,
    @inject(IdSource) private readonly ids: IdSource,
  ) {}

  /** The one capability that every process is born with: on its own namespace. */
  own(tx: WriteTx, to: Receiver): Promise<CapabilityId> {
    return this.insert(tx, to, { ...whole(`ns:process/${to.pid}/**`, ownRights), own: true, grantedBy: 'kernel' });
  }

  /** A root grant: authority that comes from nowhere but the host. */
  root(tx: WriteTx, to: Receiver, authority: Authority, grantedBy: string): Promise<CapabilityId> {
    return this.insert(tx, to, { ...fromAuthority({ ...authority, depth: 0 }), parent: null, own: false, grantedBy });
  }

  /** Hands `stated` from one process to another. Throws AMPLIFICATION naming the field that would be wider. */
  async delegate(tx: WriteTx, from: Pid, to: Receiver, stated: StatedAuthority): Promise<CapabilityId> {
    const misses: Miss[] = [];
    for (const parent of await this.candidates(tx, from, stated)) {
      const derived = attenuate(toAuthority(parent), stated, 'delegate');
      if ('refused' in derived) misses.push({ capability: parent.id, field: derived.refused, detail: derived.detail });
      else if ((await this.evaluator.status(tx, parent, to.at)) === 'live') {
        return this.insert(tx, to, { ...fromAuthority(derived), parent: parent.id, own: false, grantedBy: from });
      }
    }
    throw amplification(from, stated, misses);
  }

  /** What the parent gets at a child's end, so that the child's result and what it made stay readable. */
  successor(tx: WriteTx, child: Pid, to: Receiver): Promise<CapabilityId> {
    const heir = whole(`ns:process/${child}/**`, inheritedRights);
    return this.insert(tx, to, { ...heir, own: false, grantedBy: child });
  }

  /** Reading one object, derived from the capability by which the giver reads it. */
  async readingOf(
    tx: WriteTx,
    object: ObjectId,
    by: CapabilityId | 'host',
    to: Receiver,
    grantedBy = 'host',
  ): Promise<CapabilityId> {
    const reading = { ...whole(`object:${object}`, readOnly), grantable: 0, own: false };
    const parent = by === 'host' ? undefined : await this.repository.find(tx, by);
    if (parent === undefined) return this.insert(tx, to, { ...reading, grantedBy });
    const { id, expiresAt, maxDepth, holder } = parent;
    const derived = { parent: id, depth: parent.depth + 1, expiresAt, maxDepth, grantedBy: holder };
    return this.insert(tx, to, { ...reading, ...derived });
  }

  /** The live capability by which `pid` may read an object; `to: 'grant'`, by which it may hand the reading on. */
  async reading(
    tx: ReadTx,
    pid: Pid,
    object: { readonly id: ObjectId; readonly namespace: string },
    to: 'read' | 'grant',
    now: number,
  ): Promise<CapabilityRecord | undefined> {
    const resources = [`object:${object.id}`, `ns:${object.namespace}/${object.id}`].map(parseRequest);
    const live = await this.live(tx, pid, now);
    return live.find((record) => {
      const mask = to === 'read' ? record.rights : record.grantable;
      return (mask & readOnly) !== 0 && resources.some((request) => matches(storedPattern(record.resource), request));
    });
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

  private async live(tx: ReadTx, pid: Pid, now: number): Promise<CapabilityRecord[]> {
    const live: CapabilityRecord[] = [];
    for (const record of await this.repository.heldBy(tx, pid)) {
      if ((await this.evaluator.status(tx, record, now)) === 'live') live.push(record);
    }
    return live;
  }

  /** In the order of choice: unlimited before finite uses, later expiry, smaller depth, smaller id. */
  private async candidates(tx: ReadTx, from: Pid, stated: StatedAuthority): Promise<CapabilityRecord[]> {
    const held = await this.repository.heldBy(tx, from);
    const named = stated.from === undefined ? held : held.filter(({ id }) => id === stated.from);
    return named.sort(
      (a, b) =>
        Number(a.uses !== null) - Number(b.uses !== null) ||
        (b.expiresAt ?? Number.MAX_VALUE) - (a.expiresAt ?? Number.MAX_VALUE) ||
        a.depth - b.depth ||
        (a.id < b.id ? -1 : 1),
    );
  }

  private async insert(
    tx: WriteTx,
    to: Receiver,
    rest: Omit<CapabilityRecord, 'id' | 'holder' | 'generation' | 'status' | 'createdAt'>,
  ): Promise<CapabilityId> {
    const id = this.ids.next('capability');
    await this.repository.insert(tx, {
      ...rest,
      id,
      holder: to.pid,
      generation: to.generation,
      status: 'live',
      createdAt: to.at,
    });
    return id;
  }
}

function whole(
  resource: string,
  rights: number,
): Omit<CapabilityRecord, 'id' | 'holder' | 'generation' | 'status' | 'createdAt' | 'own' | 'grantedBy'> {
  return {
    resource,
    rights,
    grantable: rights,
    constraints: null,
    uses: null,
    expiresAt: null,
    maxDepth: depthLimit,
    parent: null,
    depth: 0,
  };
}

type Miss = { readonly capability: CapabilityId; readonly field: string; readonly detail: string };

function amplification(
  from: Pid,
  stated: StatedAuthority,
  misses: readonly Miss[],
): KernelError {
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
