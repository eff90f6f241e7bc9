import { inject, injectable } from 'inversify';
import { IdSource, type NodeId, type ObjectId } from '../../base/ids.js';
import type { JsonObject } from '../../base/json.js';
import { NodeIdentity } from '../../base/node-identity.js';
import type { WriteTx } from '../../base/store.js';
import type { Authorization } from '../../capability/decision/authorizer.js';
import type { Act } from '../../unit/act.js';
import type { AuditAction } from '../../unit/actions.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { Accounts } from '../budget/accounts.js';
import type { Usage } from '../budget/budget.js';
import type { ProcessRow } from '../process/process.js';
import { ProcessRepository } from '../process/process-repository.js';
import { EffectRepository, type EffectRow } from './effect-repository.js';

/** Something that a process is about to do to the world. */
export interface Intent {
  readonly row: ProcessRow;
  readonly action: AuditAction;
  readonly resource: string;
  readonly warrant: Authorization;
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
  /** What it has made. */
  readonly object?: ObjectId;
}

/**
 * What tools do to the world: the intent is on record before, the outcome after. What is under way has a row, so that a program
 * that ends in between leaves neither an intent without an outcome nor a budget that is not settled.
 */
@injectable()
export class Effects {
  constructor(
    @inject(EffectRepository) private readonly effects: EffectRepository,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(Accounts) private readonly accounts: Accounts,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
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
    const data = { tool: toolOf(resource), effect: id };
    this.recorder.event(tx, { type: 'tool.called', at: act.at, pid, root: row.root, data });
    this.recorder.audit(tx, {
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

  /** Settles it and writes the outcome down; nothing when somebody else did: its node was given up meanwhile. */
  async finish(tx: WriteTx, act: Act, id: string, outcome: EffectOutcome): Promise<void> {
    const effect = await this.effects.find(tx, id);
    if (effect !== undefined) await this.end(tx, act, effect, outcome);
  }

  /** What a node that is gone had begun: nobody knows whether it happened, so it counts as if it had. */
  async lose(tx: WriteTx, act: Act, node: NodeId): Promise<void> {
    for (const effect of await this.effects.ofNode(tx, node)) {
      const used = (await this.accounts.openReservation(tx, effect.reservation))?.usage ?? {};
      await this.end(tx, act, effect, { outcome: 'unknown', used, code: 'OUTCOME_UNKNOWN', facts: { node } });
    }
  }

  private async end(tx: WriteTx, act: Act, effect: EffectRow, outcome: EffectOutcome): Promise<void> {
    const { id, pid, resource } = effect;
    const { outcome: result, code, object } = outcome;
    const used = (await this.settle(tx, effect, outcome.used)) as JsonObject;
    await this.effects.remove(tx, id);
    const told = { ...(object === undefined ? {} : { object }), ...(code === undefined ? {} : { code }) };
    const data = { tool: toolOf(resource), effect: id, outcome: result, used, ...told };
    this.recorder.event(tx, { type: 'tool.returned', at: act.at, pid, data });
    this.record(tx, act, effect, outcome, used);
  }

  /** Answers with what it charged: of a process that has ended meanwhile, the reservation was charged then. */
  private async settle(tx: WriteTx, { pid, reservation }: EffectRow, used: Usage): Promise<Usage> {
    const row = await this.processes.find(tx, pid);
    if (row === undefined) return {};
    const open = await this.accounts.openReservation(tx, reservation);
    if (open !== undefined) {
      await this.accounts.settle(tx, row, open, used);
      return used;
    }
    const { toolCalls: _charged, ...beyond } = used;
    await this.accounts.add(tx, row, beyond);
    return beyond;
  }

  private record(tx: WriteTx, act: Act, effect: EffectRow, outcome: EffectOutcome, used: JsonObject): void {
    const { id, pid, generation, action, resource, capability, approval } = effect;
    const { outcome: result, code, facts, object } = outcome;
    // The first version of the object is this effect's: its provenance tells so.
    const made = object === undefined ? {} : { object, version: 1 };
    this.recorder.audit(tx, {
      ...act,
      action,
      outcome: result,
      target: pid,
      generation,
      right: 'call',
      code,
      capability,
      approval: approval ?? undefined,
      effectId: id,
      resource,
      facts: { ...facts, ...made, used },
      subject: object,
    });
  }
}

function toolOf(resource: string): string {
  return resource.slice('tool:'.length);
}
