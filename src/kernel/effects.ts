import { inject, injectable } from 'inversify';
import { Ledger } from '../audit/ledger.js';
import { IdSource, type NodeId } from '../base/ids.js';
import type { JsonObject } from '../base/json.js';
import { NodeIdentity } from '../base/node-identity.js';
import type { ReadTx, WriteTx } from '../base/store.js';
import type { Warrant } from '../capability/warrants.js';
import { EventLog } from '../events/event-log.js';
import { Accounts } from './accounts.js';
import type { Act } from './act.js';
import type { Usage } from './budget.js';
import { EffectRepository, type EffectRow } from './effect-repository.js';
import type { ProcessRow } from './process.js';
import { ProcessRepository } from './process-repository.js';

/** Something that a process is about to do to the world. */
export interface Intent {
  readonly row: ProcessRow;
  readonly action: string;
  readonly resource: string;
  readonly warrant: Warrant;
  /** The most that it is known to cost. */
  readonly ceiling: Usage;
  readonly facts: JsonObject;
  readonly payload: JsonObject;
}

/** What became of it. */
export interface EffectOutcome {
  readonly outcome: 'ok' | 'failed' | 'unknown';
  readonly used: Usage;
  readonly code?: string;
  readonly facts: JsonObject;
  readonly subject?: string;
}

/**
 * Effects on the world: the intent is on record before, the outcome after. What is under way has a row, so that a program
 * that ends in between leaves neither an intent without an outcome nor a budget that is not settled.
 */
@injectable()
export class Effects {
  constructor(
    @inject(EffectRepository) private readonly effects: EffectRepository,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(Accounts) private readonly accounts: Accounts,
    @inject(EventLog) private readonly events: EventLog,
    @inject(Ledger) private readonly ledger: Ledger,
    @inject(IdSource) private readonly ids: IdSource,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
  ) {}

  /** Sets the ceiling aside and writes the intent down. Throws BUDGET_EXCEEDED. */
  async begin(tx: WriteTx, act: Act, intent: Intent): Promise<string> {
    const { row, action, resource, warrant, facts, payload } = intent;
    const { capability, approval, generation, decision } = warrant;
    const reservation = await this.accounts.reserve(tx, row, intent.ceiling, act.at, true);
    const id = this.ids.next('effect');
    const { pid } = row;
    const { nodeId: node } = this.node;
    const bound = { capability, approval: approval ?? null, reservation, node, at: act.at };
    await this.effects.insert(tx, { id, pid, generation, action, resource, ...bound });
    this.ledger.append(tx, {
      ...act,
      action,
      outcome: 'intent',
      target: pid,
      generation,
      right: 'call',
      decision: decision.effect,
      code: decision.code,
      capability,
      approval,
      effectId: id,
      resource,
      facts,
      payload,
    });
    return id;
  }

  /** Settles it and writes the outcome down. False when somebody else did: its node was given up meanwhile. */
  async finish(tx: WriteTx, act: Act, id: string, outcome: EffectOutcome): Promise<boolean> {
    const effect = await this.effects.find(tx, id);
    if (effect === undefined) return false;
    await this.settle(tx, effect, outcome.used);
    await this.effects.remove(tx, id);
    this.record(tx, act, effect, outcome);
    return true;
  }

  /** What a node that is gone had begun: nobody knows whether it happened, so it counts as if it had. */
  async lose(tx: WriteTx, act: Act, node: NodeId): Promise<number> {
    const lost = await this.effects.ofNode(tx, node);
    for (const effect of lost) {
      const used = await this.reserved(tx, effect);
      await this.settle(tx, effect, used);
      await this.effects.remove(tx, effect.id);
      this.record(tx, act, effect, { outcome: 'unknown', used, code: 'OUTCOME_UNKNOWN', facts: { node } });
      const data = { tool: effect.resource.slice('tool:'.length), effect: effect.id, outcome: 'unknown' };
      this.events.append(tx, { type: 'tool.returned', at: act.at, pid: effect.pid, data });
    }
    return lost.length;
  }

  private async reserved(tx: ReadTx, { reservation }: EffectRow): Promise<Usage> {
    return reservation === null ? {} : ((await this.accounts.openReservation(tx, reservation))?.usage ?? {});
  }

  /** A reservation that is gone was charged when its process ended: what it cost beyond is added. */
  private async settle(tx: WriteTx, { pid, reservation }: EffectRow, used: Usage): Promise<void> {
    const row = await this.processes.find(tx, pid);
    if (row === undefined || reservation === null) return;
    const open = await this.accounts.openReservation(tx, reservation);
    if (open !== undefined) return this.accounts.settle(tx, row, open, used);
    const { toolCalls: _charged, ...beyond } = used;
    await this.accounts.add(tx, row, beyond);
  }

  private record(
    tx: WriteTx,
    act: Act,
    effect: EffectRow,
    { outcome, used, code, facts, subject }: EffectOutcome,
  ): void {
    const { id, pid, generation, action, resource, capability, approval } = effect;
    this.ledger.append(tx, {
      ...act,
      action,
      outcome,
      target: pid,
      generation,
      right: 'call',
      code,
      capability,
      approval: approval ?? undefined,
      effectId: id,
      resource,
      facts: { ...facts, used: used as JsonObject },
      subject,
    });
  }
}
