import { inject, injectable } from 'inversify';
import { z } from 'zod';
import { Clock, type KernelClock } from '../../base/clock.js';
import type { ApprovalId, Pid } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import { idText, parseId, parseSpec } from '../../base/spec.js';
import { type ReadTx, Store } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';
import { Answer } from '../syscalls/answer.js';
import {
  type Approval,
  type ApprovalDecision,
  type ApprovalRecord,
  type ApprovalScope,
  type ApprovalStatus,
  toApproval,
} from './approval.js';
import { noSuchApproval } from './approval-errors.js';
import { ApprovalRepository } from './approval-repository.js';
import { ApprovalValidity } from './approval-validity.js';

/** Selects approvals. */
export interface ApprovalFilter {
  /** Default `pending`. */
  readonly status?: ApprovalStatus | 'any';
  /** The process that asks. */
  readonly pid?: Pid;
  /** Default 1,000; their arguments may be large. */
  readonly limit?: number;
}

/** The calls that wait for the answer of a person, as the host sees them. */
export interface ApprovalQueue {
  /** Oldest first. */
  list(filter?: ApprovalFilter): Promise<Approval[]>;
  /** Throws NO_SUCH_APPROVAL. */
  get(id: ApprovalId): Promise<Approval>;
  /**
   * `once` and `deny` are for this call, `always` and `deny-always` for what `scope` says. Throws NO_SUCH_APPROVAL,
   * CONFLICT for one that was answered or is void, INVALID_INPUT.
   *
   * `once` may carry edited arguments for a call of a tool or a command (`editable`): the call is made with these, after the
   * whole decision was made anew for them. The answer waives only the rules that it was about, and only for them.
   *
   * @example await kernel.approvals.answer(id, { decision: 'once', by: 'ann', args: { to: 'bob@example.com' } });
   */
  answer(
    id: ApprovalId,
    answer: {
      readonly decision: ApprovalDecision;
      readonly by: string;
      readonly scope?: ApprovalScope;
      readonly args?: JsonValue;
    },
  ): Promise<void>;
}
export const ApprovalQueue: Token<ApprovalQueue> = token('ApprovalQueue');

const filterSpec = z.strictObject({
  status: z.enum(['pending', 'answered', 'void', 'any']).default('pending'),
  pid: idText.optional(),
  limit: z.number().int().min(1).max(10_000).default(1_000),
});
const pageRows = 100;

@injectable()
export class HostApprovalQueue implements ApprovalQueue {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(ApprovalRepository) private readonly approvals: ApprovalRepository,
    @inject(ApprovalValidity) private readonly approvalValidity: ApprovalValidity,
    @inject(Answer) private readonly answerSyscall: Answer,
  ) {}

  async list(filter: ApprovalFilter = {}): Promise<Approval[]> {
    const { status, pid, limit } = parseSpec(filterSpec, filter, 'filter');
    const scan = {
      pending: status === 'pending' || status === 'void',
      limit: pageRows,
      ...(pid === undefined ? {} : { pid }),
    };
    const found: Approval[] = [];
    for (let after = '', more = true; more && found.length < limit; ) {
      const from = after;
      const page = await this.store.read(async (tx) => {
        const records = await this.approvals.list(tx, { ...scan, after: from });
        return Promise.all(records.map((record) => this.toView(tx, record)));
      });
      found.push(...page.filter((approval) => status === 'any' || approval.status === status));
      after = page.at(-1)?.id ?? after;
      more = page.length === pageRows;
    }
    return found.slice(0, limit);
  }

  async get(input: ApprovalId): Promise<Approval> {
    const id = parseId(input, 'approval');
    return this.store.read(async (tx) => {
      const record = await this.approvals.find(tx, id);
      if (record === undefined) throw noSuchApproval(id);
      return this.toView(tx, record);
    });
  }

  answer = async (id: ApprovalId, answer: Parameters<ApprovalQueue['answer']>[1]) => this.answerSyscall.run(id, answer);

  private async toView(tx: ReadTx, record: ApprovalRecord): Promise<Approval> {
    return toApproval(record, await this.approvalValidity.factsOf(tx, record, this.clock.peek()));
  }
}
