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

/** Traces the authority of an audit record: its capability, the chain up to the root grant, and the approval there. */
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
      const chain = await this.chainOf(tx, record.seq, record.capability);
      const waivedBy = record.approval === undefined ? undefined : await this.findApproval(tx, record.approval);
      const root = await this.rootOf(tx, record, chain.at(-1));
      const near = record.facts?.nearest;
      const nearest = Array.isArray(near) ? { nearest: await this.chainsOf(tx, record.seq, near) } : {};
      return {
        record,
        actor: record.actor,
        chain,
        root,
        ...nearest,
        ...(waivedBy === undefined ? {} : { waivedBy }),
      };
    });
  }

  private async chainsOf(tx: ReadTx, seq: number, ids: readonly JsonValue[]): Promise<AuthorityLink[][]> {
    const chains: AuthorityLink[][] = [];
    for (const id of ids) chains.push(await this.chainOf(tx, seq, String(id)));
    return chains;
  }

  private async chainOf(tx: ReadTx, seq: number, capability = ''): Promise<AuthorityLink[]> {
    const chain: AuthorityLink[] = [];
    for (let current = await this.capabilities.find(tx, capability); current !== undefined; ) {
      const { id, resource, rights, grantedBy, parent } = current;
      const holder = await this.holderAt(tx, current, seq);
      chain.push({ capability: id, holder, resource, rights: rightsOfMask(rights), grantedBy });
      current = parent === null ? undefined : await this.capabilities.find(tx, parent);
    }
    return chain;
  }

  /** The holder when record `seq` was written: later transfers are undone, the last one first. */
  private async holderAt(tx: ReadTx, { id, holder }: CapabilityRecord, seq: number): Promise<Pid> {
    let pid = holder;
    for (let before = Number.MAX_SAFE_INTEGER; ; ) {
      const transfer = (await this.audit.recordsAbout(tx, pid))
        .map((stored) => decodeRecord(stored, undefined))
        .filter((record) => record.action === 'capability.transfer' && record.capability === id && record.seq < before)
        .at(-1);
      if (transfer === undefined || transfer.seq <= seq || typeof transfer.facts?.from !== 'string') return pid;
      pid = transfer.facts.from;
      before = transfer.seq;
    }
  }

  private async rootOf(
    tx: ReadTx,
    { actor, capability }: AuditRecord,
    last: AuthorityLink | undefined,
  ): Promise<AuthorityTrace['root']> {
    if (last?.grantedBy.startsWith('approval:') === true) {
      return (await this.findApproval(tx, last.grantedBy.slice('approval:'.length))) ?? 'host';
    }
    if (last !== undefined) return last.grantedBy === 'host' ? 'host' : 'kernel';
    if (capability === 'kin') return 'kin';
    return actor === 'host' || capability === 'host' ? 'host' : 'none';
  }

  private async findApproval(tx: ReadTx, id: string): Promise<AuthorityApproval | undefined> {
    const record = await this.approvals.find(tx, id);
    if (record === undefined || record.decision === null) return undefined;
    const { decision, scope, answeredBy, answeredAt } = record;
    const answer = { approval: id, decision, by: answeredBy ?? '', at: answeredAt ?? 0 };
    return scope === null ? answer : { ...answer, scope };
  }
}
