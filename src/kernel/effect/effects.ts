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
  readonly authorization: Authorization;
  /** The most that it is known to cost. */
  readonly ceiling: Usage;
  readonly facts: JsonObject;
  readonly payload: JsonObject;
}

/** An effect whose intent is on record. */
export interface BegunEffect {
  readonly effectId: string;
  /** The id of the record of the intent. */
  readonly record: string;
}

/** The outcome of an effect. */
export interface EffectOutcome {
  readonly outcome: 'ok' | 'failed' | 'unknown';
  readonly used: Usage;
  readonly code?: string;
  readonly facts: JsonObject;
  /** The object that it created. */
  readonly object?: ObjectId;
}

/**
 * Effects of tools on the world: the intent is recorded before, the outcome after. In between the effect has a row, so that
 * a crash leaves neither an intent without an outcome nor a reservation that nobody settles.
 */
@injectable()
export class Effects {
  constructor(
    @inject(EffectRepository) private readonly repository: EffectRepository,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(Accounts) private readonly accounts: Accounts,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(IdSource) private readonly ids: IdSource,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
  ) {}

  /** Reserves the ceiling and records the intent. Throws BUDGET_EXCEEDED. */
  async begin(tx: WriteTx, act: Act, intent: Intent): Promise<BegunEffect> {
    const { row, action, resource, authorization, facts, payload } = intent;
    const { capability, approval, generation, decision } = authorization;
    const reservation = await this.accounts.reserve(tx, row, intent.ceiling, act.at, true);
    const id = this.ids.next('effect');
    const { pid } = row;
    const { nodeId: node } = this.node;
    const record = this.recorder.newRecordId();
    const rest = { capability, approval: approval ?? null, reservation, node, at: act.at, intent: record };
    await this.repository.insert(tx, { id, pid, generation, action, resource, ...rest });
    const data = { tool: toolOf(resource), effect: id };
    this.recorder.recordEvent(tx, { type: 'tool.called', at: act.at, pid, root: row.root, data });
    const entry = {
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
    } as const;
    this.recorder.recordAudit(tx, entry, record);
    return { effectId: id, record };
  }

  /** Settles the effect and records the outcome. Does nothing when that was done for a node that was taken for lost. */
  async finish(tx: WriteTx, act: Act, id: string, outcome: EffectOutcome): Promise<void> {
    const effect = await this.repository.find(tx, id);
    if (effect === undefined) return;
    await this.end(tx, act, effect, outcome);
    await this.repository.remove(tx, [id]);
  }

  /** Settles the effects of a lost node: nobody knows whether they happened, so they count as if they had. */
  async settleLost(tx: WriteTx, act: Act, node: NodeId): Promise<void> {
    const lost = await this.repository.findByNode(tx, node);
    if (lost.length === 0) return;
    const processes = await this.processes.findAll(tx, [...new Set(lost.map(({ pid }) => pid))]);
    await this.accounts.loadPaths(tx, processes);
    const ids = lost.map(({ reservation }) => reservation);
    const open = new Map((await this.accounts.findReservations(tx, ids)).map(({ id, usage }) => [id, usage]));
    for (const effect of lost) {
      const used = open.get(effect.reservation) ?? {};
      await this.end(tx, act, effect, { outcome: 'unknown', used, code: 'OUTCOME_UNKNOWN', facts: { node } });
    }
    await this.repository.remove(
      tx,
      lost.map(({ id }) => id),
    );
  }

  private async end(tx: WriteTx, act: Act, effect: EffectRow, outcome: EffectOutcome): Promise<void> {
    const { id, pid, resource } = effect;
    const { outcome: result, code, object } = outcome;
    const used = (await this.settle(tx, effect, outcome.used)) as JsonObject;
    const optional = { ...(object === undefined ? {} : { object }), ...(code === undefined ? {} : { code }) };
    const data = { tool: toolOf(resource), effect: id, outcome: result, used, ...optional };
    this.recorder.recordEvent(tx, { type: 'tool.returned', at: act.at, pid, data });
    this.recordOutcome(tx, act, effect, outcome, used);
  }

  /** Answers with the usage that it charged: the reservation of a process that has ended was charged at its end. */
  private async settle(tx: WriteTx, { pid, reservation }: EffectRow, used: Usage): Promise<Usage> {
    const row = await this.processes.find(tx, pid);
    if (row === undefined) return {};
    const open = await this.accounts.findReservation(tx, reservation);
    if (open !== undefined) {
      await this.accounts.settle(tx, row, open, used);
      return used;
    }
    const { toolCalls: _charged, ...beyond } = used;
    await this.accounts.addUsage(tx, row, beyond);
    return beyond;
  }

  private recordOutcome(tx: WriteTx, act: Act, effect: EffectRow, outcome: EffectOutcome, used: JsonObject): void {
    const { id, pid, generation, action, resource, capability, approval, intent } = effect;
    const { outcome: result, code, facts, object } = outcome;
    // The first version of the object is from this effect: its provenance is read from this record.
    const created = object === undefined ? {} : { object, version: 1 };
    this.recorder.recordAudit(tx, {
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
      facts: { ...facts, ...created, used },
      subject: object,
      ...(intent === null ? {} : { cause: intent }),
    });
  }
}

function toolOf(resource: string): string {
  return resource.slice('tool:'.length);
}
