import fc from 'fast-check';
import { ContainerModule } from 'inversify';
import { describe, expect, it } from 'vitest';
import { FilePlaces, type Kernel } from '../../../src/index.js';
import { type WorldPlan, worldPlans } from '../../support/capability/arbitrary-worlds.js';
import { agreed, type Opinion, Opinions, referenceOpinion } from '../../support/capability/decision-sources.js';
import { buildWorld, type Setting } from '../../support/capability/random-worlds.js';
import { makeFiles, realPlace } from '../../support/capability/resource-pools.js';
import { WorldStore } from '../../support/capability/world-store.js';
import { tempFolder } from '../../support/kernel.js';
import { handClock, stage } from '../../support/kernel-fixture.js';
import { inSweep, seeded } from '../../support/seeded.js';

const questionsPerWorld = 80;
/** 104,000 cases in a sweep. */
const worlds = inSweep(1_300);
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
    const clock = handClock();
    const { kernel } = await stage({ clock, workspace });
    const bench = new Bench(kernel, { now: clock.now(), workspace, foldsCase: false });
    await bench.run(worlds);
    expect(bench.cases).toBeGreaterThanOrEqual(casesMin);
    // Of every code there is enough, otherwise nothing much was compared.
    expect(codes.filter((code) => bench.share(code) < 0.01)).toEqual([]);
    expect(bench.share('NO_CAPABILITY')).toBeLessThan(0.6);
    expect(bench.told / bench.cases).toBeGreaterThan(0.3);
    expect(bench.waived / bench.cases).toBeGreaterThan(0.0005);
  });

  it('does so where upper and lower case name the same file', async () => {
    const workspace = tempFolder();
    const clock = handClock();
    const places: FilePlaces = { workspace, foldsCase: true, real: async (segments) => realPlace(segments, true) };
    const folding = new ContainerModule(({ bind }) => void bind(FilePlaces).toConstantValue(places));
    const { kernel } = await stage({ clock, workspace, modules: [folding] });
    const bench = new Bench(kernel, { now: clock.now(), workspace, foldsCase: true });
    await bench.run(100, (plan) => ({ ...plan, kinds: [1, 1] }));
    expect(bench.share('ALLOWED')).toBeGreaterThan(0.05);
  });
});

/** Puts world after world into the store of one kernel and compares all opinions on it. */
class Bench {
  cases = 0;
  told = 0;
  waived = 0;
  private readonly counts = new Map<string, number>();
  private readonly opinions: Opinions;
  private readonly store: WorldStore;
  private worlds = 0;

  constructor(
    kernel: Kernel,
    private readonly setting: Omit<Setting, 'number'>,
  ) {
    this.opinions = new Opinions(kernel);
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
    const questions = await Promise.all(asked.map((one) => this.opinions.understood(one)));
    // An answer that a person has given is looked for after the decision, so only the public API knows of it.
    const expected = asked.map((one) => referenceOpinion({ ...world, now, approvals: [] }, one));
    agreed(world, asked, expected, await this.opinions.uncached(asked, questions), 'uncached');
    agreed(world, asked, expected, await this.opinions.cached(asked, questions), 'cached');
    const askable = asked.filter((one) => one.now === now && one.args !== undefined);
    const answered = askable.map((one) => referenceOpinion({ ...world, now }, one));
    agreed(world, askable, answered, await this.opinions.told(askable), 'public');
    this.count(expected);
    this.told += askable.length;
    this.waived += askable.filter((one, index) => expected[asked.indexOf(one)] !== answered[index]).length;
  }

  private count(opinions: readonly Opinion[]): void {
    this.cases += opinions.length;
    for (const opinion of opinions) {
      const code = opinion.split(' ')[0] ?? '';
      this.counts.set(code, (this.counts.get(code) ?? 0) + 1);
    }
  }
}
