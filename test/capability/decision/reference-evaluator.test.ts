import fc from 'fast-check';
import { ContainerModule } from 'inversify';
import { describe, expect, it } from 'vitest';
import { FilePlaces, type Kernel } from '../../../src/index.js';
import { type WorldPlan, worldPlans } from '../../support/capability/arbitrary-worlds.js';
import {
  assertSameDecisions,
  DecisionSources,
  type DecisionText,
  referenceDecisionText,
} from '../../support/capability/decision-sources.js';
import { buildWorld, type WorldSetting } from '../../support/capability/random-worlds.js';
import { makeFiles, realPlace } from '../../support/capability/resource-pools.js';
import { WorldStore } from '../../support/capability/world-store.js';
import { tempFolder } from '../../support/kernel.js';
import { kernelFixture, manualClock } from '../../support/kernel-fixture.js';
import { runsInSweep, runsOnStore, seeded } from '../../support/seeded.js';

const questionsPerWorld = 80;
/** 104,000 cases in a sweep. */
const worlds = runsOnStore(runsInSweep(1_300));
const casesMin = worlds * questionsPerWorld;
const codes = [
  ...['ALLOWED', 'KIN', 'ASK', 'DENY_RULE', 'NO_CAPABILITY'],
  ...['CONSTRAINT', 'EXPIRED', 'SPENT', 'REVOKED', 'PROCESS_ENDED'],
];

describe('on generated worlds, in shuffled order', () => {
  it('decides as the reference does: from memory, from the rows and through the public API', {
    timeout: 180_000,
  }, async () => {
    const workspace = tempFolder();
    makeFiles(workspace, tempFolder());
    const clock = manualClock();
    const { kernel } = await kernelFixture({ clock, workspace });
    const comparison = new WorldComparison(kernel, { now: clock.now(), workspace, foldsCase: false });
    await comparison.run(worlds);
    expect(comparison.cases).toBeGreaterThanOrEqual(casesMin);
    // Of every code there is enough, otherwise nothing much was compared.
    expect(codes.filter((code) => comparison.share(code) < 0.01)).toEqual([]);
    expect(comparison.share('NO_CAPABILITY')).toBeLessThan(0.6);
    expect(comparison.checked / comparison.cases).toBeGreaterThan(0.3);
    expect(comparison.waived / comparison.cases).toBeGreaterThan(0.0005);
  });

  it('does so where upper and lower case name the same file', async () => {
    const workspace = tempFolder();
    const clock = manualClock();
    const places: FilePlaces = {
      workspace,
      foldsCase: true,
      real: async (segments) => realPlace(segments, true),
    };
    const folding = new ContainerModule(({ bind }) => void bind(FilePlaces).toConstantValue(places));
    const { kernel } = await kernelFixture({ clock, workspace, modules: [folding] });
    const comparison = new WorldComparison(kernel, { now: clock.now(), workspace, foldsCase: true });
    await comparison.run(runsOnStore(100), (plan) => ({ ...plan, kinds: [1, 1] }));
    expect(comparison.share('ALLOWED')).toBeGreaterThan(0.05);
  });
});

/** Puts world after world into the store of one kernel and compares the decisions of all sources. */
class WorldComparison {
  cases = 0;
  checked = 0;
  waived = 0;
  private readonly counts = new Map<string, number>();
  private readonly sources: DecisionSources;
  private readonly store: WorldStore;
  private worlds = 0;

  constructor(
    kernel: Kernel,
    private readonly setting: Omit<WorldSetting, 'number'>,
  ) {
    this.sources = new DecisionSources(kernel);
    this.store = new WorldStore(kernel);
  }

  run(worlds: number, adapt: (plan: WorldPlan) => WorldPlan = (plan) => plan): Promise<void> {
    const property = fc.asyncProperty(worldPlans(questionsPerWorld).map(adapt), (plan) => this.compare(plan));
    return fc.assert(property, seeded({ numRuns: worlds }));
  }

  share(code: string): number {
    return (this.counts.get(code) ?? 0) / this.cases;
  }

  private async compare(plan: WorldPlan): Promise<void> {
    const { now } = this.setting;
    const world = buildWorld(plan, { ...this.setting, number: ++this.worlds });
    await this.store.put(world);
    const asked = world.questions;
    const questions = await Promise.all(asked.map((one) => this.sources.parse(one)));
    // An answer that a person has given is looked for after the decision, so only the public API knows of it.
    const expected = asked.map((one) => referenceDecisionText({ ...world, now, approvals: [] }, one));
    assertSameDecisions(world, asked, expected, await this.sources.decideFromRows(asked, questions), 'uncached');
    assertSameDecisions(world, asked, expected, await this.sources.decideFromCache(asked, questions), 'cached');
    const askable = asked.filter((one) => one.now === now && one.args !== undefined);
    const answered = askable.map((one) => referenceDecisionText({ ...world, now }, one));
    assertSameDecisions(world, askable, answered, await this.sources.decideByCheck(askable), 'public');
    this.count(expected);
    this.checked += askable.length;
    this.waived += askable.filter((one, index) => expected[asked.indexOf(one)] !== answered[index]).length;
  }

  private count(texts: readonly DecisionText[]): void {
    this.cases += texts.length;
    for (const text of texts) {
      const code = text.split(' ')[0] ?? '';
      this.counts.set(code, (this.counts.get(code) ?? 0) + 1);
    }
  }
}
