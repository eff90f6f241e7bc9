import { inject, injectable } from 'inversify';
import type { ReadTx } from '../../base/store.js';
import type { CapabilityStatus } from '../holding/capability.js';
import type { CapabilityRecord } from '../holding/capability-record.js';
import { Holdings } from '../holding/holdings.js';
import { FilePlaces } from '../resource/workspace-files.js';
import { Rules } from '../rule/rules.js';
import { AuthorityGraph, GraphLoader, type GraphNode } from './authority-graph.js';
import { decide, kinTargetOf, type RawDecision } from './decide.js';
import type { Question } from './question.js';

/** Decides inside a unit, by the rows as this unit sees them, its own changes among them. */
@injectable()
export class Evaluator {
  constructor(
    @inject(GraphLoader) private readonly loader: GraphLoader,
    @inject(Holdings) private readonly holdings: Holdings,
    @inject(Rules) private readonly rules: Rules,
    @inject(FilePlaces) private readonly filePlaces: FilePlaces,
  ) {}

  async decide(tx: ReadTx, question: Question, now: number): Promise<RawDecision> {
    return this.decideWith(tx, question, now, []);
  }

  /** Gives the same decision as `decide`, and also looks for near misses. */
  async explain(tx: ReadTx, question: Question, now: number): Promise<RawDecision> {
    const { pid, request } = question;
    return this.decideWith(tx, question, now, await this.holdings.findNear(tx, pid, request.kind));
  }

  /** The status that a capability has because of itself, of its holder, and of everything above it. */
  async statusOf(tx: ReadTx, record: CapabilityRecord, now: number): Promise<CapabilityStatus> {
    const graph = new AuthorityGraph();
    return graph.statusOf(await this.loader.loadChain(tx, graph, record), now);
  }

  /** Those that are live, as `statusOf` says it. */
  async filterLive(
    tx: ReadTx,
    records: readonly CapabilityRecord[],
    now: number,
  ): Promise<readonly CapabilityRecord[]> {
    const graph = new AuthorityGraph();
    const nodes = await this.loader.loadChains(tx, graph, records);
    return records.filter((_record, index) => graph.statusOf(nodes[index] as GraphNode, now) === 'live');
  }

  private async decideWith(
    tx: ReadTx,
    question: Question,
    now: number,
    near: readonly CapabilityRecord[],
  ): Promise<RawDecision> {
    const { pid, using, right, request } = question;
    const graph = new AuthorityGraph();
    const holder = await this.loader.loadHolder(tx, graph, pid);
    if (holder?.live !== true) return decide(question, { holder, rules: [], matching: [], graph }, { now });
    const kinTarget = kinTargetOf(right, request);
    if (kinTarget !== undefined) await this.loader.loadHolder(tx, graph, kinTarget);
    const found = await this.holdings.findMatching(tx, question);
    const usable = found.filter(({ id }) => using === undefined || id === using);
    const matching = await this.loader.loadChains(tx, graph, usable);
    const input = {
      holder,
      rules: await this.rules.findForQuestion(tx, holder, question),
      matching,
      notMatching: near.filter(({ id }) => !graph.nodes.has(id)),
      graph,
    };
    return decide(question, input, { now, workspace: this.filePlaces.workspace });
  }
}
