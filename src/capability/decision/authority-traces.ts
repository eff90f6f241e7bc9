import { inject, injectable } from 'inversify';
import { type AuditRecord, decodeRecord } from '../../audit/audit-record.js';
import { AuditRepository } from '../../audit/audit-repository.js';
import type {
  AuthorityApproval,
  AuthorityLink,
  AuthorityQuery,
  AuthorityTrace,
} from '../../audit/query/authority-trace.js';
import type { CapabilityId, Pid } from '../../base/ids.js';
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
    for (let id: CapabilityId | null = capability; id !== null; ) {
      const row: CapabilityRecord | undefined = await this.capabilities.find(tx, id);
      if (row === undefined) break;
      const { resource, rights, grantedBy, parent }: Origin = await this.originOf(tx, row);
      chain.push({ capability: id, holder: await this.holderAt(tx, row, seq), resource, rights, grantedBy });
      id = parent;
    }
    return chain;
  }

  /**
   * The origin of a capability as the record of its grant tells it. Those that a process was spawned with have no record of
   * their own; theirs is read from the row.
   */
  private async originOf(tx: ReadTx, row: CapabilityRecord): Promise<Origin> {
    const ofRow = { ...row, rights: rightsOfMask(row.rights) };
    const firstHolder = await this.holderAt(tx, row, 0);
    const record = await this.findRecord(tx, firstHolder, (candidate) => isGrantOf(candidate, row.id));
    if (record === undefined) return ofRow;
    const { rights, from, parent } = record.facts ?? {};
    return {
      // Empty where it was erased.
      resource: record.resource ?? '',
      rights: Array.isArray(rights) ? rights.map(String) : ofRow.rights,
      grantedBy: record.action === 'approval.answer' ? `approval:${record.approval}` : String(from ?? 'host'),
      parent: typeof parent === 'string' ? parent : null,
    };
  }

  /** The first matching record about a process, with its payload. */
  private async findRecord(
    tx: ReadTx,
    pid: Pid,
    isWanted: (record: AuditRecord) => boolean,
  ): Promise<AuditRecord | undefined> {
    for (const stored of await this.audit.recordsAbout(tx, pid)) {
      if (!isWanted(decodeRecord(stored, undefined))) continue;
      const [payload] = await this.audit.payloads(tx, stored.seq, stored.seq);
      return decodeRecord(stored, payload);
    }
    return undefined;
  }

  private async recordsAbout(tx: ReadTx, pid: Pid): Promise<AuditRecord[]> {
    return (await this.audit.recordsAbout(tx, pid)).map((stored) => decodeRecord(stored, undefined));
  }

  /** The holder when record `seq` was written: later transfers are undone, the last one first. */
  private async holderAt(tx: ReadTx, { id, holder }: CapabilityRecord, seq: number): Promise<Pid> {
    let pid = holder;
    for (let before = Number.MAX_SAFE_INTEGER; ; ) {
      const transfer = (await this.recordsAbout(tx, pid))
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

  /** The answer as the log tells it: the row of the approval only says whose question it was. */
  private async findApproval(tx: ReadTx, id: string): Promise<AuthorityApproval | undefined> {
    const pid = (await this.approvals.find(tx, id))?.pid ?? '';
    const isAnswer = ({ action, approval }: AuditRecord) => action === 'approval.answer' && approval === id;
    const answer = await this.findRecord(tx, pid, isAnswer);
    if (answer === undefined) return undefined;
    const { decision, scope } = answer.facts ?? {};
    const told = { approval: id, decision: String(decision), by: String(answer.payload?.by ?? ''), at: answer.at };
    return typeof scope === 'string' ? { ...told, scope } : told;
  }
}

/** What the record of a grant tells of a capability. */
interface Origin {
  readonly resource: string;
  readonly rights: readonly string[];
  readonly grantedBy: string;
  readonly parent: CapabilityId | null;
}

const grantActions: ReadonlySet<string> = new Set([
  'capability.grant',
  'capability.delegate',
  'capability.derive',
  'approval.answer',
]);

/** An answer grants a capability where it names its rights; otherwise it names the capability that was used. */
function isGrantOf({ action, outcome, capability, facts }: AuditRecord, id: CapabilityId): boolean {
  return grantActions.has(action) && outcome === 'ok' && capability === id && Array.isArray(facts?.rights);
}
