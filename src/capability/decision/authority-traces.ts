import { inject, injectable } from 'inversify';
import { type AuditRecord, decodeRecord } from '../../audit/audit-record.js';
import { AuditRepository } from '../../audit/audit-repository.js';
import type {
  AuthorityApproval,
  AuthorityLink,
  AuthorityQuery,
  AuthorityTrace,
} from '../../audit/query/authority-trace.js';
import type { Pid } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import { type ReadTx, Store } from '../../base/store.js';
import { ApprovalRepository } from '../approval/approval-repository.js';
import type { CapabilityRecord } from '../holding/capability-record.js';
import { CapabilityRepository } from '../holding/capability-repository.js';
import { rightsOfMask } from '../resource/rights.js';

/** Follows what a record names: the capability, those it came from, and the approval at their end. */
@injectable()
export class AuthorityTraces implements AuthorityQuery {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(CapabilityRepository) private readonly capabilities: CapabilityRepository,
    @inject(ApprovalRepository) private readonly approvals: ApprovalRepository,
    @inject(AuditRepository) private readonly audit: AuditRepository,
  ) {}

  trace(record: AuditRecord): Promise<AuthorityTrace> {
    return this.store.read(async (tx) => {
      const chain = await this.chain(tx, record.seq, record.capability);
      const waivedBy = record.approval === undefined ? undefined : await this.approval(tx, record.approval);
      const root = await this.root(tx, record, chain.at(-1));
      const near = record.facts?.nearest;
      const nearest = Array.isArray(near) ? { nearest: await this.chains(tx, record.seq, near) } : {};
      return { record, actor: record.actor, chain, root, ...nearest, ...(waivedBy === undefined ? {} : { waivedBy }) };
    });
  }

  private async chains(tx: ReadTx, seq: number, ids: readonly JsonValue[]): Promise<AuthorityLink[][]> {
    const chains: AuthorityLink[][] = [];
    for (const id of ids) chains.push(await this.chain(tx, seq, String(id)));
    return chains;
  }

  private async chain(tx: ReadTx, seq: number, capability = ''): Promise<AuthorityLink[]> {
    const chain: AuthorityLink[] = [];
    for (let at = await this.capabilities.find(tx, capability); at !== undefined; ) {
      const { id, resource, rights, grantedBy, parent } = at;
      const holder = await this.holderThen(tx, at, seq);
      chain.push({ capability: id, holder, resource, rights: rightsOfMask(rights), grantedBy });
      at = parent === null ? undefined : await this.capabilities.find(tx, parent);
    }
    return chain;
  }

  /** A transfer changes who holds it, so those that came later are undone, the last one first. */
  private async holderThen(tx: ReadTx, { id, holder }: CapabilityRecord, seq: number): Promise<Pid> {
    let then = holder;
    for (let before = Number.MAX_SAFE_INTEGER; ; ) {
      const given = (await this.audit.recordsAbout(tx, then))
        .map((stored) => decodeRecord(stored, undefined))
        .filter((one) => one.action === 'capability.transfer' && one.capability === id && one.seq < before)
        .at(-1);
      if (given === undefined || given.seq <= seq || typeof given.facts?.from !== 'string') return then;
      then = given.facts.from;
      before = given.seq;
    }
  }

  private async root(
    tx: ReadTx,
    { actor, capability }: AuditRecord,
    last: AuthorityLink | undefined,
  ): Promise<AuthorityTrace['root']> {
    if (last?.grantedBy.startsWith('approval:') === true) {
      return (await this.approval(tx, last.grantedBy.slice('approval:'.length))) ?? 'host';
    }
    if (last !== undefined) return last.grantedBy === 'host' ? 'host' : 'kernel';
    if (capability === 'kin') return 'kin';
    return actor === 'host' || capability === 'host' ? 'host' : 'none';
  }

  private async approval(tx: ReadTx, id: string): Promise<AuthorityApproval | undefined> {
    const found = await this.approvals.find(tx, id);
    if (found === undefined || found.decision === null) return undefined;
    const { decision, scope, answeredBy, answeredAt } = found;
    const answer = { approval: id, decision, by: answeredBy ?? '', at: answeredAt ?? 0 };
    return scope === null ? answer : { ...answer, scope };
  }
}
