import { inject, injectable } from 'inversify';
import { CapabilityError, type KernelError } from '../../base/errors.js';
import { type CapabilityId, IdSource, type ObjectId, type Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { applying } from '../decision/decide.js';
import { Evaluator } from '../decision/evaluator.js';
import { CaseFolding } from '../resource/case-folding.js';
import { parsePattern, parseRequest } from '../resource/resource.js';
import { maskOfRights, type Right, rightsOfKind } from '../resource/rights.js';
import type { RuleRecord } from '../rule/rule.js';
import { Rules } from '../rule/rules.js';
import { attenuate } from './attenuate.js';
import { type Authority, delegationDepthDefault } from './capability.js';
import { byPreference, type CapabilityRecord, toAuthority } from './capability-record.js';
import { CapabilityRepository } from './capability-repository.js';
import { Holdings } from './holdings.js';
import { derivedRecord, type Receiver, wholeRecord } from './new-record.js';

const ownRights = maskOfRights(rightsOfKind('ns'));
const inheritedRights = maskOfRights(['read', 'diff', 'materialize', 'link', 'grant']);
const readMask = maskOfRights(['read']);

const reads = { right: 'read', args: {} } as const;

/** By which an object is read, and the rules that want a person to be asked first. */
export interface Reading {
  readonly record: CapabilityRecord;
  readonly asks: readonly RuleRecord[];
}

/** Gives authority and finds it, inside the unit of the syscall that does so. */
@injectable()
export class Grants {
  constructor(
    @inject(CapabilityRepository) private readonly repository: CapabilityRepository,
    @inject(Evaluator) private readonly evaluator: Evaluator,
    @inject(Rules) private readonly rules: Rules,
    @inject(Holdings) private readonly held: Holdings,
    @inject(CaseFolding) private readonly names: CaseFolding,
    @inject(IdSource) private readonly ids: IdSource,
  ) {}

  /** Stores what the methods below have made. */
  insert(tx: WriteTx, records: readonly CapabilityRecord[]): Promise<void> {
    return this.repository.insert(tx, records);
  }

  /** The one capability that every process is born with: on its own namespace. */
  own(to: Receiver): CapabilityRecord {
    return wholeRecord(this.id(), to, `ns:process/${to.pid}/**`, ownRights, { own: true, grantedBy: 'kernel' });
  }

  /** A root grant: authority that comes from nowhere but the host. */
  root(to: Receiver, authority: Authority, grantedBy: string): CapabilityRecord {
    return derivedRecord(this.id(), to, { ...authority, depth: 0 }, null, grantedBy);
  }

  /** What the parent gets at a child's end, so that the child's result and what it made stay readable. */
  successor(child: Pid, to: Receiver): CapabilityRecord {
    return wholeRecord(this.id(), to, `ns:process/${child}/**`, inheritedRights, { own: false, grantedBy: child });
  }

  /** Reading one object: derived from the capability by which the giver reads it, or given by the host. */
  async readingOf(tx: ReadTx, object: ObjectId, by: CapabilityId | 'host', to: Receiver): Promise<CapabilityRecord> {
    const parent = by === 'host' ? undefined : await this.repository.find(tx, by);
    if (parent !== undefined) return this.shareOf(object, parent, ['read'], to);
    const pattern = parsePattern(`object:${object}`);
    const reading = {
      pattern,
      rights: ['read'],
      grantable: [],
      delegable: false,
      maxDepth: delegationDepthDefault,
    } as const;
    return this.root(to, reading, 'host');
  }

  /** Rights on one object, derived from a capability on it or on its place; with `grant` the others can be handed on. */
  shareOf(object: ObjectId, parent: CapabilityRecord, rights: readonly Right[], to: Receiver): CapabilityRecord {
    const { depth, maxDepth, expiresAt, uses } = parent;
    if (depth + 1 > maxDepth) throw tooDeep(parent, object);
    const delegable = rights.includes('grant');
    const grantable = delegable ? rights.filter((right) => right !== 'grant') : [];
    const pattern = parsePattern(`object:${object}`);
    const authority = { pattern, rights, grantable, delegable, depth: depth + 1, maxDepth };
    return { ...derivedRecord(this.id(), to, authority, parent.id, parent.holder), expiresAt, uses };
  }

  /**
   * The live capability by which `pid` may read an object; `to: 'grant'`, by which it may hand the reading on. A rule
   * against reading is also one against handing it on.
   */
  async reading(
    tx: ReadTx,
    pid: Pid,
    { id, namespace }: { readonly id: ObjectId; readonly namespace: string },
    to: 'read' | 'grant',
    now: number,
  ): Promise<Reading | undefined> {
    const place = parseRequest(`ns:${namespace}/${id}`);
    const holder = await this.repository.holder(tx, pid);
    const named = parseRequest(`object:${id}`);
    const rules = holder === undefined ? [] : await this.rules.matching(tx, holder, [place, named]);
    if (applying('deny', rules, reads, now).length > 0) return undefined;
    const held = await this.held.matching(tx, { pid, names: [place, named], isEither: true });
    const record = await this.firstLive(tx, held.sort(byPreference), to, now);
    return record === undefined ? undefined : { record, asks: applying('ask', rules, reads, now) };
  }

  /** Refuses where what `pid` holds does not meet what an image requires. Throws CAPABILITY_DENIED. */
  async requireAll(tx: ReadTx, pid: Pid, required: readonly Authority[], image: string, now: number): Promise<void> {
    if (required.length === 0) return;
    const held = (await this.live(tx, pid, now)).map((record) => this.names.withPattern(toAuthority(record)));
    for (const { pattern, rights } of required) {
      const stated = this.names.withPattern({ pattern, rights, grantable: [], delegable: false });
      if (held.every((authority) => 'refused' in attenuate(authority, stated, 'derive'))) {
        throw requirement(pid, image, pattern.text, rights);
      }
    }
  }

  private id(): CapabilityId {
    return this.ids.next('capability');
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
