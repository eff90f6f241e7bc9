import { inject, injectable } from 'inversify';
import type { ReadTx } from '../../base/store.js';
import type { HolderState } from '../holding/capability-repository.js';
import { CaseFolding } from '../resource/case-folding.js';
import type { Pattern, Request } from '../resource/resource.js';
import { matches, overlaps } from '../resource/resource-matching.js';
import { maskOfRights, type Right } from '../resource/rights.js';
import type { RuleRecord } from './rule.js';
import { RuleRepository } from './rule-repository.js';

/** The place of a process in the tree it was born in. */
export type TreePosition = Pick<HolderState, 'n' | 'path'>;

/** What somebody is about to give: a pattern, and every right that goes with it. */
export interface Handover {
  readonly pattern: Pattern;
  readonly rights: readonly Right[];
}

/**
 * The host's rules, as they bind a process: those for all, those on itself and those on every process it was born
 * under, whoever is its parent now.
 */
@injectable()
export class Rules {
  constructor(
    @inject(RuleRepository) private readonly rules: RuleRepository,
    @inject(CaseFolding) private readonly names: CaseFolding,
  ) {}

  /** Those that bind it, expired ones among them. */
  binding(tx: ReadTx, { path, n }: TreePosition): Promise<readonly RuleRecord[]> {
    return this.rules.binding(tx, [...path, n]);
  }

  /** Of those that bind it, the ones whose pattern matches one of the names that a resource goes by. */
  async matching(tx: ReadTx, bound: TreePosition, names: readonly Request[]): Promise<RuleRecord[]> {
    return this.about(await this.binding(tx, bound), names);
  }

  patternOf({ resource }: RuleRecord): Pattern {
    return this.names.pattern(resource);
  }

  about(rules: readonly RuleRecord[], names: readonly Request[]): RuleRecord[] {
    return rules.filter((rule) => names.some((name) => matches(this.patternOf(rule), name)));
  }

  /** Whether there may be something in a gift that the rule is about. */
  touches(rule: RuleRecord, { pattern, rights }: Handover): boolean {
    if ((rule.rights & maskOfRights(rights)) === 0) return false;
    const about = this.patternOf(rule);
    const given = this.names.pattern(pattern.text);
    // An object goes by its id and by its place in a namespace, so a rule on one kind may be about what the other names.
    const areTwoNames = about.kind !== given.kind && isMemory(about) && isMemory(given);
    return areTwoNames || overlaps(about, given);
  }
}

function isMemory({ kind }: Pattern): boolean {
  return kind === 'object' || kind === 'ns';
}
