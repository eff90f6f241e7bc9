import { PatternIndex } from '../resource/pattern-index.js';
import { matches, type Pattern, type Request } from '../resource/resource.js';
import type { RuleRecord } from '../rule/rule.js';
import { namesForRulesOf } from '../rule/rules.js';
import type { GraphNode } from './authority-graph.js';
import type { Question } from './question.js';

/** The capabilities of one process and the rules that bind it, indexed by their patterns. */
export class CompiledAuthority {
  private readonly capabilities = new PatternIndex<GraphNode>();
  private readonly patterns = new Map<GraphNode, Pattern>();
  private rules = new PatternIndex<RuleRecord>();
  /** The state of the rules that was compiled; -1 before the first. */
  rulesVersion = -1;

  addCapability(node: GraphNode, pattern: Pattern): void {
    if (this.patterns.has(node)) return;
    this.patterns.set(node, pattern);
    this.capabilities.add(pattern, node);
  }

  removeCapability(node: GraphNode, pattern: Pattern): void {
    if (this.patterns.delete(node)) this.capabilities.remove(pattern, node);
  }

  setRules(rules: readonly (readonly [Pattern, RuleRecord])[], version: number): void {
    this.rules = new PatternIndex();
    for (const [pattern, rule] of rules) this.rules.add(pattern, rule);
    this.rulesVersion = version;
  }

  /** Those whose pattern matches all of `names`. */
  capabilitiesMatching(names: readonly Request[]): readonly GraphNode[] {
    const [first, ...others] = names;
    const found = first === undefined ? [] : this.capabilities.findMatching(first);
    if (others.length === 0) return found;
    return found.filter((node) => others.every((name) => matches(this.patterns.get(node) as Pattern, name)));
  }

  /** Those whose pattern matches one of the names of the question. */
  rulesMatching(question: Pick<Question, 'request' | 'names' | 'namesForRules'>): readonly RuleRecord[] {
    // The further names are of the same kind, and finding them may take long. The names themselves may be of several kinds.
    const names = this.rules.hasKind(question.request.kind) ? namesForRulesOf(question) : question.names;
    const [first] = names;
    if (first !== undefined && names.length === 1) return this.rules.findMatching(first);
    return [...new Set(names.flatMap((name) => this.rules.findMatching(name)))];
  }
}
