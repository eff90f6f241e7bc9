import { inject, injectable } from 'inversify';
import { CapabilityError, type KernelError } from '../../base/errors.js';
import { type CapabilityId, IdSource, type ObjectId, type Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { applicableRules } from '../decision/decide.js';
import { Evaluator } from '../decision/evaluator.js';
import { CaseFolding } from '../resource/case-folding.js';
import { parsePattern, parseRequest } from '../resource/resource.js';
import { maskOfRights, type Right, rightsOfKind } from '../resource/rights.js';
import type { RuleRecord } from '../rule/rule.js';
import { Rules } from '../rule/rules.js';
import { attenuate } from './attenuate.js';
import { type Authority, delegationDepthDefault } from './capability.js';
import {
  byPreference,
  type CapabilityRecord,
  newDerivedRecord,
  newUnlimitedRecord,
  type Receiver,
  toAuthority,
} from './capability-record.js';
import { CapabilityRepository } from './capability-repository.js';
import { Holdings } from './holdings.js';

/** The rights of a process on its own namespace, as a mask. */
export const ownRights = maskOfRights(rightsOfKind('ns'));
/** The rights of a parent on the namespace of a child that has ended, as a mask. */
export const inheritedRights = maskOfRights(['read', 'diff', 'materialize', 'link', 'grant']);
const readMask = maskOfRights(['read']);

const readQuestion = { right: 'read', args: {} } as const;

/** The capability by which an object is read, and the rules that want a person to be asked first. */
export interface ReadPermission {
  readonly record: CapabilityRecord;
  readonly asks: readonly RuleRecord[];
}

/** Creates the records of new capabilities, and finds authority that a process holds, inside the caller's unit. */
@injectable()
export class Grants {
  constructor(
    @inject(CapabilityRepository) private readonly repository: CapabilityRepository,
    @inject(Evaluator) private readonly evaluator: Evaluator,
    @inject(Rules) private readonly rules: Rules,
    @inject(Holdings) private readonly holdings: Holdings,
    @inject(CaseFolding) private readonly caseFolding: CaseFolding,
    @inject(IdSource) private readonly ids: IdSource,
  ) {}

  /** Stores records that the methods below have created. */
  insert(tx: WriteTx, records: readonly CapabilityRecord[]): Promise<void> {
    return this.repository.insert(tx, records);
  }

  /** The capability that every process gets when it is spawned: on its own namespace. */
  createOwn(to: Receiver): CapabilityRecord {
    return newUnlimitedRecord(this.nextId(), to, `ns:process/${to.pid}/**`, ownRights, {
      own: true,
      grantedBy: 'kernel',
    });
  }

  /** A root grant: authority that is derived from no other capability. */
  createRoot(to: Receiver, authority: Authority, grantedBy: string): CapabilityRecord {
    return newDerivedRecord(this.nextId(), to, { ...authority, depth: 0 }, null, grantedBy);
  }

  /** The capability that a parent gets at the end of a child, so that the child's result and objects stay readable. */
  createInherited(child: Pid, to: Receiver): CapabilityRecord {
    return newUnlimitedRecord(this.nextId(), to, `ns:process/${child}/**`, inheritedRights, {
      own: false,
      grantedBy: child,
    });
  }

  /** The right to read one object, derived from the capability by which the giver reads it, or granted by the host. */
  async createReadShare(
    tx: ReadTx,
    object: ObjectId,
    by: CapabilityId | 'host',
    to: Receiver,
  ): Promise<CapabilityRecord> {
    const parent = by === 'host' ? undefined : await this.repository.find(tx, by);
    if (parent !== undefined) return this.createShare(object, parent, ['read'], to);
    const pattern = parsePattern(`object:${object}`);
    const authority = {
      pattern,
      rights: ['read'],
      grantable: [],
      delegable: false,
      maxDepth: delegationDepthDefault,
    } as const;
    return this.createRoot(to, authority, 'host');
  }

  /**
   * Rights on one object, derived from a capability on it or on its namespace; with `grant` the others can be handed on.
   * Throws AMPLIFICATION at the last depth.
   */
  createShare(object: ObjectId, parent: CapabilityRecord, rights: readonly Right[], to: Receiver): CapabilityRecord {
    const { depth, maxDepth, expiresAt, uses } = parent;
    if (depth + 1 > maxDepth) throw tooDeep(parent, object);
    const delegable = rights.includes('grant');
    const grantable = delegable ? rights.filter((right) => right !== 'grant') : [];
    const pattern = parsePattern(`object:${object}`);
    const authority = { pattern, rights, grantable, delegable, depth: depth + 1, maxDepth };
    return { ...newDerivedRecord(this.nextId(), to, authority, parent.id, parent.holder), expiresAt, uses };
  }

  /** The capability of a process on its own namespace, which every process has. */
  async getOwn(tx: ReadTx, pid: Pid): Promise<CapabilityRecord> {
    const record = (await this.repository.findByResource(tx, pid, [`ns:process/${pid}/**`])).find(({ own }) => own);
    if (record === undefined) throw new Error(`process ${pid} has no namespace of its own`);
    return record;
  }

  /**
   * Some rights of `by`, which ends in the same unit, on one object and for the same holder: within the limits of `by`, and
   * not to be handed on. It is derived from what the holder was given `by` from. The record is not stored.
   */
  async createSuccessor(
    tx: ReadTx,
    object: ObjectId,
    by: CapabilityRecord,
    rights: readonly Right[],
    to: Receiver,
  ): Promise<CapabilityRecord> {
    const { parent, depth, grantedBy } = await this.findFirstOfHolder(tx, by);
    const pattern = parsePattern(`object:${object}`);
    const authority = { pattern, rights, grantable: [], delegable: false, depth, maxDepth: by.maxDepth };
    return { ...newDerivedRecord(this.nextId(), to, authority, parent, grantedBy), expiresAt: by.expiresAt };
  }

  /** The capability from which the holder of `record` has derived it for itself; `record`, where another one gave it. */
  private async findFirstOfHolder(tx: ReadTx, record: CapabilityRecord): Promise<CapabilityRecord> {
    const parent = record.parent === null ? undefined : await this.repository.find(tx, record.parent);
    if (parent === undefined || parent.own || parent.holder !== record.holder) return record;
    return this.findFirstOfHolder(tx, parent);
  }

  /**
   * The live capability by which `pid` may read an object or, with `to: 'grant'`, may hand the right to read on. A rule
   * that denies reading also denies handing it on.
   */
  async findRead(
    tx: ReadTx,
    pid: Pid,
    { id, namespace }: { readonly id: ObjectId; readonly namespace: string },
    to: 'read' | 'grant',
    now: number,
  ): Promise<ReadPermission | undefined> {
    const byNamespace = parseRequest(`ns:${namespace}/${id}`);
    const holder = await this.repository.findHolder(tx, pid);
    const byId = parseRequest(`object:${id}`);
    const rules = holder === undefined ? [] : await this.rules.findMatching(tx, holder, [byNamespace, byId]);
    if (applicableRules('deny', rules, readQuestion, now).length > 0) return undefined;
    const matching = await this.holdings.findMatching(tx, { pid, names: [byNamespace, byId], matchesAnyName: true });
    const record = await this.findFirstLive(tx, matching.sort(byPreference), to, now);
    return record === undefined ? undefined : { record, asks: applicableRules('ask', rules, readQuestion, now) };
  }

  /**
   * Throws CAPABILITY_DENIED where `held` does not cover what an image requires. `held` are live capabilities of the
   * process, or records that are not stored yet; of those, expired ones do not count.
   */
  requireAll(held: readonly CapabilityRecord[], required: readonly Authority[], { pid, image, now }: Requirer): void {
    if (required.length === 0) return;
    const authorities = held
      .filter(({ expiresAt }) => expiresAt === null || expiresAt > now)
      .map((record) => this.caseFolding.foldPattern(toAuthority(record)));
    for (const { pattern, rights } of required) {
      const stated = this.caseFolding.foldPattern({ pattern, rights, grantable: [], delegable: false });
      if (authorities.every((authority) => 'exceeded' in attenuate(authority, stated, 'derive'))) {
        throw requirementNotMet(pid, image, pattern.text, rights);
      }
    }
  }

  /** Reads what these processes hold together, for a unit that will ask for one after another. */
  load(tx: WriteTx, pids: readonly Pid[]): Promise<void> {
    return this.repository.loadHolders(tx, pids);
  }

  async findLive(tx: ReadTx, pid: Pid, now: number): Promise<readonly CapabilityRecord[]> {
    return this.evaluator.filterLive(tx, await this.repository.findByHolder(tx, pid), now);
  }

  private nextId(): CapabilityId {
    return this.ids.next('capability');
  }

  private async findFirstLive(
    tx: ReadTx,
    records: readonly CapabilityRecord[],
    to: 'read' | 'grant',
    now: number,
  ): Promise<CapabilityRecord | undefined> {
    const able = records.filter(({ rights, grantable }) => ((to === 'read' ? rights : grantable) & readMask) !== 0);
    return (await this.evaluator.filterLive(tx, able, now))[0];
  }
}

/** The process that an image is for. */
interface Requirer {
  readonly pid: Pid;
  /** As `name@version`. */
  readonly image: string;
  readonly now: number;
}

function requirementNotMet(pid: Pid, image: string, resource: string, rights: readonly Right[]): KernelError {
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
