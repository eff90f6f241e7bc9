import { inject, injectable } from 'inversify';
import { notOnRecord } from '../../audit/audit-errors.js';
import type { AuditRecord } from '../../audit/audit-record.js';
import { AuditRepository } from '../../audit/audit-repository.js';
import type {
  AuthorityApproval,
  AuthorityLink,
  AuthorityQuery,
  AuthorityTrace,
} from '../../audit/query/authority-trace.js';
import { LogReader } from '../../audit/query/log-reader.js';
import type { ApprovalId, CapabilityId } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import { type ReadTx, Store } from '../../base/store.js';
import { ApprovalRepository } from '../approval/approval-repository.js';
import { CapabilityRepository } from '../holding/capability-repository.js';
import { authorityChain } from './authority-chain.js';
import { CapabilityHistory } from './capability-history.js';

/** Traces the authority of an audit record: its capability, the chain up to the root grant, and the approval there. */
@injectable()
export class AuthorityTraces implements AuthorityQuery {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(CapabilityRepository) private readonly capabilities: CapabilityRepository,
    @inject(ApprovalRepository) private readonly approvals: ApprovalRepository,
    @inject(AuditRepository) private readonly audit: AuditRepository,
  ) {}

  /** Throws AUDIT_BROKEN where neither the log nor the tables tell of a capability or an answer that the record names. */
  trace(record: AuditRecord): Promise<AuthorityTrace> {
    return this.store.read(async (tx) => {
      const log = new LogReader(tx, this.audit);
      const history = new CapabilityHistory(log);
      const chain = await this.chainOf(tx, history, record, record.capability);
      const waivedBy =
        record.approval === undefined ? undefined : await this.findAnswer(tx, log, record, record.approval);
      const root = await this.rootOf(tx, log, record, chain.at(-1));
      const near = record.facts?.nearest;
      const nearest = Array.isArray(near) ? { nearest: await this.chainsOf(tx, history, record, near) } : {};
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

  private async chainsOf(
    tx: ReadTx,
    history: CapabilityHistory,
    record: AuditRecord,
    ids: readonly JsonValue[],
  ): Promise<(readonly AuthorityLink[])[]> {
    const chains: (readonly AuthorityLink[])[] = [];
    for (const id of ids) chains.push(await this.chainOf(tx, history, record, String(id)));
    return chains;
  }

  private async chainOf(
    tx: ReadTx,
    history: CapabilityHistory,
    { seq, actor, target, outcome }: AuditRecord,
    id: CapabilityId = 'host',
  ): Promise<readonly AuthorityLink[]> {
    if (noCapability.has(id)) return [];
    const chain = await authorityChain(tx, this.capabilities, history, { id, near: [actor, target], seq });
    // A refused call may name a capability that does not exist.
    if (!chain.isWhole && (outcome !== 'refused' || chain.links.length > 0))
      throw notOnRecord(`nothing tells of the whole authority of record ${seq}.`, { seq, capability: id });
    return chain.links;
  }

  private async rootOf(
    tx: ReadTx,
    log: LogReader,
    record: AuditRecord,
    last: AuthorityLink | undefined,
  ): Promise<AuthorityTrace['root']> {
    if (last?.grantedBy.startsWith('approval:') === true) {
      return this.findAnswer(tx, log, { ...record, actor: last.holder }, last.grantedBy.slice('approval:'.length));
    }
    if (last !== undefined) return last.grantedBy === 'host' ? 'host' : 'kernel';
    const { actor, capability } = record;
    if (capability === 'kin') return 'kin';
    return actor === 'host' || capability === 'host' ? 'host' : 'none';
  }

  /** The answer as the log tells it: the row of the approval only says whose question it was. */
  private async findAnswer(
    tx: ReadTx,
    log: LogReader,
    { seq, actor, target }: AuditRecord,
    id: ApprovalId,
  ): Promise<AuthorityApproval> {
    const isAnswer = ({ action, outcome, approval }: AuditRecord) =>
      action === 'approval.answer' && outcome === 'ok' && approval === id;
    let found: AuditRecord | undefined;
    for (const pid of [(await this.approvals.find(tx, id))?.pid, actor, target]) {
      if (pid !== undefined) found ??= (await log.recordsAbout(pid)).find(isAnswer);
    }
    if (found === undefined) {
      const isCandidate = (body: string) => body.includes(id);
      await log.scan(isCandidate, (record) => {
        if (isAnswer(record)) found ??= record;
      });
    }
    if (found === undefined) throw notOnRecord(`no record tells of the answer ${id}.`, { seq, approval: id });
    const { at, facts, payload } = await log.withPayload(found);
    const { decision, scope } = facts ?? {};
    const told = { approval: id, decision: String(decision), by: String(payload?.by ?? ''), at };
    return typeof scope === 'string' ? { ...told, scope } : told;
  }
}

/** Values of a record's `capability` that name none. */
const noCapability: ReadonlySet<string> = new Set(['', 'host', 'kin']);
