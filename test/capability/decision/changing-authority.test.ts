import { setImmediate as immediate, setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Store } from '../../../src/base/store.js';
import { EventFeed } from '../../../src/events/event-feed.js';
import { EventRepository } from '../../../src/events/event-repository.js';
import type { Kernel } from '../../../src/index.js';
import {
  questionsAbout,
  ScriptActors,
  type Step,
  type StepKind,
  scripts,
  step,
  stepKinds,
} from '../../support/capability/authority-scripts.js';
import {
  assertSameDecisions,
  DecisionSources,
  referenceDecisionText,
} from '../../support/capability/decision-sources.js';
import { namesOf, type WorldQuestion } from '../../support/capability/random-worlds.js';
import { WorldStore } from '../../support/capability/world-store.js';
import { checkInvariants } from '../../support/invariants.js';
import { newStore, tempFolder } from '../../support/kernel.js';
import { kernelFixture, manualClock } from '../../support/kernel-fixture.js';
import { runsInSweep, runsOnStore, seeded } from '../../support/seeded.js';

const runsOfScripts = (count: number) => runsOnStore(runsInSweep(count));

describe('after every change of authority', () => {
  it('what is decided from memory, from the rows and by the reference is the same', { timeout: 120_000 }, async () => {
    const clock = manualClock();
    const { kernel, path } = await kernelFixture({ clock });
    const runner = new ScriptRunner([kernel], clock);
    await fc.assert(
      fc.asyncProperty(scripts, (steps) => runner.run(steps)),
      seeded({ numRuns: runsOfScripts(300) }),
    );
    expect(stepKinds.filter((kind) => runner.done(kind) < runsOfScripts(15))).toEqual([]);
    expect(runner.compared).toBeGreaterThan(runsOfScripts(20_000));
    await checkInvariants(kernel, path);
  });

  it('while somebody is asked about for the first time, that one is known as it then is', {
    timeout: 120_000,
  }, async () => {
    const clock = manualClock();
    const runner = new ScriptRunner([(await kernelFixture({ clock })).kernel], clock);
    const short = fc.array(
      step.map((one) => ({ ...one, watched: true })),
      { minLength: 1, maxLength: 2 },
    );
    await fc.assert(
      fc.asyncProperty(short, (steps) => runner.run(steps)),
      seeded({ numRuns: runsOfScripts(400) }),
    );
    expect(runner.compared).toBeGreaterThan(runsOfScripts(4_000));
  });

  it('two kernels on one file agree as soon as each has heard of it', { timeout: 120_000 }, async () => {
    const clock = manualClock();
    const options = { clock, store: await newStore(), workspace: tempFolder(), node: { executor: false, pollMs: 5 } };
    const kernels = [(await kernelFixture(options)).kernel, (await kernelFixture(options)).kernel];
    const runner = new ScriptRunner(kernels, clock);
    await fc.assert(
      fc.asyncProperty(scripts, (steps) => runner.run(steps)),
      seeded({ numRuns: runsInSweep(80) }),
    );
    expect(stepKinds.filter((kind) => runner.done(kind) < runsInSweep(5))).toEqual([]);
    for (const kernel of kernels) await checkInvariants(kernel, options.store);
  });
});

/** Runs scripts on kernels that share a store, and compares their decisions after each step. */
class ScriptRunner {
  compared = 0;
  private readonly counts = new Map<StepKind, number>();
  private readonly observed: ObservedKernel[];
  private readonly worlds: WorldStore;
  private readonly store: Store;

  constructor(
    private readonly kernels: readonly Kernel[],
    private readonly clock: ReturnType<typeof manualClock>,
  ) {
    const first = this.kernel(0);
    this.observed = kernels.map((kernel) => new ObservedKernel(kernel));
    this.worlds = new WorldStore(first);
    this.store = first.container.get<Store>(Store);
  }

  done(kind: StepKind): number {
    return this.counts.get(kind) ?? 0;
  }

  async run(script: readonly Step[]): Promise<void> {
    const actors = new ScriptActors(this.clock);
    await actors.begin(this.kernel(0));
    try {
      for (const [turn, steps] of groupSteps(script).entries()) {
        await Promise.all([...steps.map((step) => this.step(actors, step)), this.checkMeanwhile(actors, steps)]);
        await this.compare(actors, turn);
      }
    } finally {
      await actors.end(this.kernel(0));
      for (const kernel of this.observed) await kernel.catchUp();
    }
  }

  private async step(actors: ScriptActors, step: Step): Promise<void> {
    for (let turn = 0; turn < step.lead; turn++) await immediate();
    if (!(await actors.run(this.kernel(step.by), step))) return;
    this.counts.set(step.kind, this.done(step.kind) + 1);
  }

  /** Checks everything while it changes; these decisions may be by the old or the new state. */
  private async checkMeanwhile(actors: ScriptActors, steps: readonly Step[]): Promise<void> {
    if (!steps.some(({ isWatched }) => isWatched)) return;
    const asked = this.questions(actors, 0);
    const first = (steps[0]?.picks[0] ?? 0) % asked.length;
    const rotated = [...asked.slice(first), ...asked.slice(0, first)];
    await Promise.all(this.observed.map(({ sources }) => sources.decideByCheck(rotated)));
  }

  private async compare(actors: ScriptActors, turn: number): Promise<void> {
    const asked = this.questions(actors, turn);
    for (const kernel of this.observed) {
      const { sources } = kernel;
      // A kernel knows its own changes at once, and those of others when its feed has caught up.
      if (this.observed.length > 1) await kernel.catchUp();
      const world = {
        ...(await this.store.read((tx) => this.worlds.readWorld(tx, actors.pids))),
        workspace: '/',
        foldsCase: false,
      };
      const now = this.clock.now();
      const questions = await Promise.all(asked.map((question) => sources.parse(question)));
      const expected = asked.map((question) => referenceDecisionText({ ...world, now, approvals: [] }, question));
      const answered = asked.map((question) => referenceDecisionText({ ...world, now }, question));
      assertSameDecisions(world, asked, expected, await sources.decideFromCache(asked, questions), 'cached');
      assertSameDecisions(world, asked, expected, await sources.decideFromRows(asked, questions), 'uncached');
      assertSameDecisions(world, asked, answered, await sources.decideByCheck(asked), 'public');
      this.compared += asked.length;
    }
  }

  /** A part of all questions, another one at each turn. */
  private questions(actors: ScriptActors, turn: number): WorldQuestion[] {
    const all = questionsAbout([...actors.pids, 'p_none'], actors.results);
    const some = all.filter((_, index) => index % 4 === turn % 4);
    return some.map((one) => ({ ...one, ...namesOf(one.resource, false), now: this.clock.now() }));
  }

  private kernel(index: number): Kernel {
    return this.kernels[index % this.kernels.length] as Kernel;
  }
}

/** A kernel, and the last event that its feed has delivered. */
class ObservedKernel {
  readonly sources: DecisionSources;
  private readonly store: Store;
  private readonly events: EventRepository;
  private seenSeq: number | undefined;

  constructor(kernel: Kernel) {
    const { container } = kernel;
    this.store = container.get<Store>(Store);
    this.events = container.get<EventRepository>(EventRepository);
    this.sources = new DecisionSources(kernel);
    container.get(EventFeed).onAdvance((seq) => {
      this.seenSeq = seq;
    });
  }

  async catchUp(): Promise<void> {
    const head = await this.store.read((tx) => this.events.head(tx));
    while ((this.seenSeq ?? 0) < head) await pause(1);
  }
}

/** Groups the steps that run at the same time. */
function groupSteps(script: readonly Step[]): Step[][] {
  const groups: Step[][] = [];
  let isOpen = false;
  for (const step of script) {
    if (isOpen) groups.at(-1)?.push(step);
    else groups.push([step]);
    isOpen = step.isWithNext;
  }
  return groups;
}
