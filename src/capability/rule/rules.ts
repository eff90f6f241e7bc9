import { inject, injectable } from 'inversify';
import type { ReadTx } from '../../base/store.js';
import type { Question } from '../decision/question.js';
import type { HolderState } from '../holding/capability-repository.js';
import { CaseFolding } from '../resource/case-folding.js';
import { matches, overlaps, type Pattern, type Request } from '../resource/resource.js';
import { maskOfRights, type Right } from '../resource/rights.js';
import type { RuleRecord } from './rule.js';
import { RuleRepository } from './rule-repository.js';

/** The row numbers of a process and of the processes that it was spawned under. */
export type TreePosition = Pick<HolderState, 'n' | 'path'>;

/** Authority that is about to be handed on: a pattern, and every right that goes with it. */
export interface Handover {
  readonly pattern: Pattern;
  readonly rights: readonly Right[];
}

/**
 * The host's rules. A process is bound by those for all, those on itself and those on every process that it was spawned
 * under, whatever its parent is now.
 */
@injectable()
export class Rules {
  constructor(
    @inject(RuleRepository) private readonly repository: RuleRepository,
    @inject(CaseFolding) private readonly caseFolding: CaseFolding,
  ) {}

  /** Those that bind a process, expired ones among them. */
  findBinding(tx: ReadTx, { path, n }: TreePosition): Promise<readonly RuleRecord[]> {
    return this.repository.findByTargets(tx, [...path, n]);
  }

  /** Of those that bind a process, the ones whose pattern matches one of the names of a resource. */
  async findMatching(tx: ReadTx, position: TreePosition, names: readonly Request[]): Promise<RuleRecord[]> {
    return this.filterMatching(await this.findBinding(tx, position), names);
  }

  /** As `findMatching`, by all names of the question. */
  async findForQuestion(
    tx: ReadTx,
    position: TreePosition,
    question: Pick<Question, 'request' | 'names' | 'namesForRules'>,
  ): Promise<RuleRecord[]> {
    const rules = await this.findBinding(tx, position);
    const hasKind = rules.some((rule) => this.patternOf(rule).kind === question.request.kind);
    // The further names are of the same kind, and finding them may take long. The names themselves may be of several kinds.
    return this.filterMatching(rules, hasKind ? namesForRulesOf(question) : question.names);
  }

  patternOf({ resource }: RuleRecord): Pattern {
    return this.caseFolding.foldStored(resource);
  }

  filterMatching(rules: readonly RuleRecord[], names: readonly Request[]): RuleRecord[] {
    return rules.filter((rule) => names.some((name) => matches(this.patternOf(rule), name)));
  }

  /** Whether the rule may be about a part of what is handed on. */
  touches(rule: RuleRecord, { pattern, rights }: Handover): boolean {
    if ((rule.rights & maskOfRights(rights)) === 0) return false;
    const ofRule = this.patternOf(rule);
    const handedOn = this.caseFolding.foldStored(pattern.text);
    // An object goes by its id and by its place in a namespace, so a rule on one kind may be about what the other names.
    const areTwoNames = ofRule.kind !== handedOn.kind && isMemory(ofRule) && isMemory(handedOn);
    return areTwoNames || areTwoProgramNames(ofRule, handedOn) || overlaps(ofRule, handedOn);
  }
}

/** All names by which a rule may match what is asked for. */
export function namesForRulesOf({
  names,
  namesForRules = [],
}: Pick<Question, 'names' | 'namesForRules'>): readonly Request[] {
  return namesForRules.length === 0 ? names : [...names, ...namesForRules];
}

/** A program goes by a bare name and by its files, so a rule on one may be about what the other names. */
function areTwoProgramNames(a: Pattern, b: Pattern): boolean {
  return a.kind === 'command' && b.kind === 'command' && isFileOfProgram(a) !== isFileOfProgram(b);
}

function isFileOfProgram({ segments }: Pattern): boolean {
  return segments[0] === 'abs';
}

function isMemory({ kind }: Pattern): boolean {
  return kind === 'object' || kind === 'ns';
}
