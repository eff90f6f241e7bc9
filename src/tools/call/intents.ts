import { inject, injectable } from 'inversify';
import { canonicalJson, sha256Hex } from '../../base/canonical.js';
import type { CapabilityId } from '../../base/ids.js';
import type { JsonObject } from '../../base/json.js';
import type { WriteTx } from '../../base/store.js';
import { type Authorization, Authorizer } from '../../capability/decision/authorizer.js';
import { severalOf } from '../../capability/rule/rule-gate.js';
import { Effects } from '../../kernel/effect/effects.js';
import type { ProcessRow } from '../../kernel/process/process.js';
import { ProcessLookup } from '../../kernel/process/process-lookup.js';
import type { Act } from '../../unit/act.js';
import type { Call } from '../../unit/caller.js';
import { OutdatedPreparation, Units } from '../../unit/units.js';
import type { ParsedTool } from '../tool-definition.js';
import { toolOutcomeUnknown } from '../tool-errors.js';
import { CallPreparer, type PreparedCall } from './call-preparer.js';

/** A call that somebody wants to make. */
export interface CallRequest {
  readonly call: Call;
  readonly tool: ParsedTool;
  readonly args: unknown;
  readonly using: CapabilityId | undefined;
  /** An earlier run had begun it, and nobody knows what came of that. */
  readonly isRepeated: boolean;
}

/** A call whose intent is on record: the stage that it has reached, for the journal of a run. */
export interface BegunCall {
  readonly stage: 'intent';
  readonly shaped: PreparedCall;
  /** The id of its effect. */
  readonly effect: string;
  /** Of the process then: another program has no use for the result. */
  readonly generation: number;
}

/** Longer arguments are on record by their hash alone. */
const recordedArgsMax = 4_096;

/** Everything about a call that can be refused, and then its intent, in one commit. */
@injectable()
export class ToolIntents {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(CallPreparer) private readonly shaper: CallPreparer,
    @inject(Authorizer) private readonly warrants: Authorizer,
    @inject(Effects) private readonly effects: Effects,
  ) {}

  /** Throws INVALID_INPUT, INVALID_PATH, CAPABILITY_DENIED, BUDGET_EXCEEDED, OUTCOME_UNKNOWN. */
  begin({ call, tool, args, using, isRepeated }: CallRequest): Promise<BegunCall> {
    const pid = call.actor;
    const shape = async () => {
      const row = await this.units.read(call, (tx) => this.lookup.live(tx, pid));
      const shaped = await this.shaper.shape(tool, row, args, using);
      if (isRepeated && shaped.effect === 'once') throw toolOutcomeUnknown(tool.name);
      return shaped;
    };
    return this.units.commitPrepared(call, shape, async (tx, act, shaped) => {
      const row = await this.lookup.live(tx, pid);
      if (row.cwd !== shaped.place.cwd) throw new OutdatedPreparation(pid);
      const effect = await this.intent(tx, act, row, shaped);
      return { stage: 'intent', shaped, effect, generation: row.generation };
    });
  }

  private async intent(tx: WriteTx, act: Act, row: ProcessRow, shaped: PreparedCall): Promise<string> {
    const { tool, args, questions } = shaped;
    const warrants: Authorization[] = [];
    for (const question of questions) warrants.push(await this.warrants.authorize(tx, act, question));
    const [warrant, ...others] = warrants as [Authorization, ...Authorization[]];
    return this.effects.begin(tx, act, {
      row,
      action: toolCall,
      resource: questions[0].request.text,
      warrant,
      ceiling: { toolCalls: 1 },
      facts: {
        tool: tool.name,
        effect: shaped.effect,
        argsHash: sha256Hex(canonicalJson(args)),
        ...(others.length === 0 ? {} : { alsoBy: [...new Set(others.map(({ capability }) => capability))] }),
        ...severalOf(warrants.flatMap(({ approval }) => approval ?? [])),
      },
      payload: recorded(shaped),
    });
  }
}

/** What the record keeps of the arguments and of what else was asked for. */
function recorded({ shown, questions: [, ...needed] }: PreparedCall): JsonObject {
  const resources = needed.map(({ right, request }) => `${right} ${request.text}`);
  const also = resources.length === 0 ? {} : { resources };
  return canonicalJson(shown).length > recordedArgsMax ? also : { args: shown, ...also };
}

/** What calls of tools are called on record. */
export const toolCall = 'tool.call';
