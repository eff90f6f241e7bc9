import { inject, injectable } from 'inversify';
import { Ledger } from '../audit/ledger.js';
import { Clock, type KernelClock } from '../base/clock.js';
import { type ApprovalId, IdSource, type Pid } from '../base/ids.js';
import { keepAlive } from '../base/keep-alive.js';
import { type ReadTx, Store, type WriteTx } from '../base/store.js';
import { EventLog } from '../events/event-log.js';
import type { Act, Call, Caller } from './act.js';
import { type ApprovalRecord, type Ask, isSameCall, type Rest, stands } from './approval.js';
import { approvalDenied, approvalPending, askerStopped, tooManyAsked } from './approval-errors.js';
import { ApprovalFootings } from './approval-footings.js';
import { ApprovalRepository } from './approval-repository.js';
import { ApprovalWatch } from './approval-watch.js';
import { CapabilityRepository } from './capability-repository.js';

/** Questions of one process that wait for an answer at the same time. */
const pendingMax = 16;
/** How often a parked call looks at the time: the clock may be a caller's own, so it cannot be slept through. */
const lookMs = 50;

/** Takes questions for a person, and lets the calls of processes wait for the answers. */
@injectable()
export class ApprovalDesk {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(IdSource) private readonly ids: IdSource,
    @inject(ApprovalRepository) private readonly approvals: ApprovalRepository,
    @inject(ApprovalFootings) private readonly footings: ApprovalFootings,
    @inject(CapabilityRepository) private readonly capabilities: CapabilityRepository,
    @inject(ApprovalWatch) private readonly answers: ApprovalWatch,
    @inject(EventLog) private readonly events: EventLog,
    @inject(Ledger) private readonly ledger: Ledger,
  ) {}

  /**
   * Puts the question to the queue, once for identical calls. The host is told to come back; a process's call is parked
   * and resolves when it is worth trying again, which then checks everything anew. Throws APPROVAL_PENDING,
   * APPROVAL_DENIED, TOO_MANY_APPROVALS, CANCELLED.
   */
  async attend({ caller, action }: Call, act: Act, ask: Ask): Promise<void> {
    const record = await this.store.write((tx) => this.question(tx, caller, act, ask));
    const answered = record.decision !== null || caller.face === 'host' ? record : await this.parked(record, ask);
    if (answered?.decision?.startsWith('deny') === true) {
      await this.tell(answered, act, action);
      throw approvalDenied(answered.id, ask);
    }
    if (caller.face === 'host') throw approvalPending(record.id, ask);
  }

  /** The open question about this very call, or a new one; one that was refused and not told yet is the answer. */
  private async question(tx: WriteTx, caller: Caller, act: Act, ask: Ask): Promise<ApprovalRecord> {
    if (caller.face === 'process') await this.assertGoingOn(tx, ask.pid);
    const own = await this.approvals.open(tx, [ask.holder.n]);
    const same = own.filter((record) => isSameCall(record, ask));
    const known = same.find(({ decision }) => decision === 'deny') ?? same.find(({ decision }) => decision === null);
    if (known !== undefined) return known;
    await this.assertRoom(tx, act, ask, own);
    return this.asked(tx, act, ask);
  }

  /** What is void waits for nobody. */
  private async assertRoom(tx: ReadTx, { at }: Act, ask: Ask, own: readonly ApprovalRecord[]): Promise<void> {
    let waiting = 0;
    for (const record of own) {
      if (record.decision === null && stands(record, await this.footings.of(tx, record, at))) waiting++;
    }
    if (waiting >= pendingMax) throw tooManyAsked(ask, pendingMax);
  }

  private async asked(tx: WriteTx, act: Act, ask: Ask): Promise<ApprovalRecord> {
    const { holder, rests: _rests, ...bound } = ask;
    const record: ApprovalRecord = {
      ...bound,
      id: this.ids.next('approval'),
      n: holder.n,
      generation: holder.generation,
      lineage: await this.lineage(tx, ask.pid),
      createdAt: act.at,
      ...unanswered,
    };
    await this.approvals.insert(tx, record);
    const { id: approval, pid, right, resource } = record;
    const kind = resource.slice(0, resource.indexOf(':'));
    this.events.append(tx, { type: 'approval.requested', at: act.at, pid, data: { approval, right, kind } });
    this.ledger.append(tx, {
      ...act,
      actor: pid,
      action: 'approval.request',
      outcome: 'ok',
      target: pid,
      generation: record.generation,
      right,
      decision: 'ask',
      code: 'ASK',
      capability: record.capability ?? undefined,
      approval,
      resource,
      facts: { rules: [...record.rules], argsHash: record.argsHash },
      subject: pid,
    });
    return record;
  }

  private async lineage(tx: ReadTx, pid: Pid): Promise<Pid[]> {
    const lineage: Pid[] = [];
    for (let at = await this.capabilities.holder(tx, pid); at !== undefined && at.parent !== null; ) {
      lineage.push(at.parent);
      at = await this.capabilities.holder(tx, at.parent);
    }
    return lineage;
  }

  /** A refusal is told once, and on record: the same call later asks again. */
  private async tell(record: ApprovalRecord, act: Act, action: string): Promise<void> {
    const { id: approval, pid, right, resource } = record;
    await this.store.write(async (tx) => {
      if ((await this.approvals.find(tx, approval))?.spentAt !== null) return;
      const at = this.clock.now();
      await this.approvals.spend(tx, approval, at);
      this.events.append(tx, { type: 'approval.used', at, pid, data: { approval } });
      const refused = { outcome: 'refused', decision: 'deny', code: 'APPROVAL_DENIED' } as const;
      this.ledger.append(tx, { ...act, at, action, ...refused, target: pid, right, approval, resource });
    });
  }

  private async assertGoingOn(tx: ReadTx, pid: Pid): Promise<void> {
    if ((await this.capabilities.holder(tx, pid))?.stopping === true) throw askerStopped(pid);
  }

  /** Resolves when the answer is there, or anything that it rests on may have changed. */
  private async parked(
    { id, chain, lineage }: ApprovalRecord,
    { pid, rests }: Ask,
  ): Promise<ApprovalRecord | undefined> {
    using _alive = keepAlive();
    const { promise: woken, resolve: wake } = withResolvers();
    const processes = new Set([pid, ...lineage, ...rests.on]);
    using _watch = this.answers.watch({ approval: id, chain, processes, wake });
    using _timer = this.expiry(rests, wake);
    // An answer that came before the watch began rings no more.
    if ((await this.find(id))?.decision === null) await woken;
    return this.find(id);
  }

  private find(id: ApprovalId): Promise<ApprovalRecord | undefined> {
    return this.store.read((tx) => this.approvals.find(tx, id));
  }

  private expiry({ until }: Rest, wake: () => void): Disposable {
    if (until === null) return { [Symbol.dispose]: () => undefined };
    const timer = setInterval(() => (this.clock.peek() < until ? undefined : wake()), lookMs);
    return { [Symbol.dispose]: () => clearInterval(timer) };
  }
}

const unanswered = {
  decision: null,
  scope: null,
  answeredBy: null,
  answeredAt: null,
  granted: null,
  spentAt: null,
} as const;

function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
