import { inject, injectable } from 'inversify';
import type { ReadTx } from '../../base/store.js';
import type { CapabilityStatus } from '../holding/capability.js';
import type { CapabilityRecord } from '../holding/capability-record.js';
import type { HolderState } from '../holding/capability-repository.js';
import { FamilyRights } from '../holding/family-rights.js';
import { Holdings } from '../holding/holdings.js';
import { FilePlaces } from '../resource/workspace-files.js';
import { Rules } from '../rule/rules.js';
import { AuthorityGraph } from './authority-graph.js';
import { decide, type RawDecision } from './decide.js';
import { GraphLoader } from './graph-loader.js';
import type { Question } from './question.js';

/** A verdict with what it was found in. */
export interface LocatedDecision extends RawDecision {
  readonly holder: HolderState | undefined;
  readonly graph: AuthorityGraph;
}

/** Written out for the same reason as the verdict. */
export function ruled(
  { code, slot, nearest, denies, asks }: RawDecision,
  holder: HolderState | undefined,
  graph: AuthorityGraph,
): LocatedDecision {
  return { code, slot, nearest, denies, asks, holder, graph };
}

/** Decides inside a unit, by the rows as this unit sees them: what no cache could know of is seen too. */
@injectable()
export class Evaluator {
  constructor(
    @inject(GraphLoader) private readonly loader: GraphLoader,
    @inject(Holdings) private readonly held: Holdings,
    @inject(Rules) private readonly rules: Rules,
    @inject(FamilyRights) private readonly kin: FamilyRights,
    @inject(FilePlaces) private readonly places: FilePlaces,
  ) {}

  async decide(tx: ReadTx, question: Question, now: number): Promise<LocatedDecision> {
    return this.ruling(tx, question, now, []);
  }

  /** The same decision, which also looks for what came near. */
  async explain(tx: ReadTx, question: Question, now: number): Promise<LocatedDecision> {
    const { kind } = question.request;
    return this.ruling(tx, question, now, await this.held.near(tx, question.pid, kind));
  }

  /** live(c): its own status, its holder's state and generation, and the same of every one above it. */
  async status(tx: ReadTx, record: CapabilityRecord, now: number): Promise<CapabilityStatus> {
    const graph = new AuthorityGraph();
    return graph.status(await this.loader.add(tx, graph, record), now);
  }

  private async ruling(
    tx: ReadTx,
    question: Question,
    now: number,
    near: readonly CapabilityRecord[],
  ): Promise<LocatedDecision> {
    const { pid, names, using } = question;
    const graph = new AuthorityGraph();
    const holder = await this.loader.learn(tx, graph, pid);
    if (holder === undefined || !holder.live) return ruled(decide(question, nobody(graph), { now }), holder, graph);
    const held = await this.held.matching(tx, question);
    const slots = [];
    for (const record of held.filter(({ id }) => using === undefined || id === using))
      slots.push(await this.loader.add(tx, graph, record));
    const evidence = {
      isLive: true,
      rules: await this.rules.matching(tx, holder, names),
      isKin: using === undefined && (await this.kin.may(tx, pid, holder.parent, question.right, question.request)),
      held: slots,
      others: near.filter(({ id }) => !graph.slots.has(id)),
      graph,
    };
    return ruled(decide(question, evidence, { now, workspace: this.places.workspace }), holder, graph);
  }
}

function nobody(graph: AuthorityGraph) {
  return { isLive: false, rules: [], isKin: false, held: [], graph };
}
