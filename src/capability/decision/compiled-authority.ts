import { PatternIndex } from '../resource/pattern-index.js';
import type { Pattern, Request } from '../resource/resource.js';
import { matches } from '../resource/resource-matching.js';
import type { RuleRecord } from '../rule/rule.js';
import type { GraphNode } from './authority-graph.js';

/** What one process holds and what binds it, ready to be asked. */
export class CompiledAuthority {
  private readonly held = new PatternIndex<GraphNode>();
  private readonly slots = new Map<GraphNode, Pattern>();
  private rules = new PatternIndex<RuleRecord>();
  /** Which state of the rules it has; none yet. */
  rulesVersion = -1;

  hold(slot: GraphNode, pattern: Pattern): void {
    if (this.slots.has(slot)) return;
    this.slots.set(slot, pattern);
    this.held.add(pattern, slot);
  }

  drop(slot: GraphNode, pattern: Pattern): void {
    if (this.slots.delete(slot)) this.held.remove(pattern, slot);
  }

  bind(rules: readonly (readonly [Pattern, RuleRecord])[], version: number): void {
    this.rules = new PatternIndex();
    for (const [pattern, rule] of rules) this.rules.add(pattern, rule);
    this.rulesVersion = version;
  }

  /** Those whose pattern matches all of `names`. */
  heldOn(names: readonly Request[]): readonly GraphNode[] {
    const [first, ...others] = names;
    const found = first === undefined ? [] : this.held.matching(first);
    if (others.length === 0) return found;
    return found.filter((slot) => others.every((name) => matches(this.slots.get(slot) as Pattern, name)));
  }

  /** Those whose pattern matches one of `names`. */
  rulesOn(names: readonly Request[]): readonly RuleRecord[] {
    const [first] = names;
    if (first !== undefined && names.length === 1) return this.rules.matching(first);
    return [...new Set(names.flatMap((name) => this.rules.matching(name)))];
  }
}
