import { setImmediate as immediate, setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Store } from '../../../src/base/store.js';
import { EventFeed } from '../../../src/events/event-feed.js';
import { EventRepository } from '../../../src/events/event-repository.js';
import type { Kernel } from '../../../src/index.js';
import {
  askedOf,
  Cast,
  type Deed,
  deeds,
  type Step,
  scripts,
  step,
} from '../../support/capability/authority-scripts.js';
import { agreed, Opinions, referenceOpinion } from '../../support/capability/decision-sources.js';
import { type Asked, namesOf } from '../../support/capability/random-worlds.js';
import { WorldStore } from '../../support/capability/world-store.js';
import { checkInvariants } from '../../support/invariants.js';
import { newStore, tempFolder } from '../../support/kernel.js';
import { handClock, stage } from '../../support/kernel-fixture.js';
import { inSweep, seeded } from '../../support/seeded.js';

describe('after every change of authority', () => {
  it('what is decided from memory, from the rows and by the reference is the same', { timeout: 120_000 }, async () => {
    const clock = handClock();
    const { kernel, path } = await stage({ clock });
    const theatre = new Theatre([kernel], clock);
    await fc.assert(
      fc.asyncProperty(scripts, (steps) => theatre.play(steps)),
      seeded({ numRuns: inSweep(300) }),
    );
    expect(deeds.filter((deed) => theatre.done(deed) < inSweep(15))).toEqual([]);
    expect(theatre.compared).toBeGreaterThan(inSweep(20_000));
    await checkInvariants(kernel, path);
  });

  it('while somebody is asked about for the first time, that one is known as it then is', {
    timeout: 120_000,
  }, async () => {
    const clock = handClock();
    const theatre = new Theatre([(await stage({ clock })).kernel], clock);
    const short = fc.array(
      step.map((one) => ({ ...one, watched: true })),
      { minLength: 1, maxLength: 2 },
    );
    await fc.assert(
      fc.asyncProperty(short, (steps) => theatre.play(steps)),
      seeded({ numRuns: inSweep(400) }),
    );
    expect(theatre.compared).toBeGreaterThan(inSweep(4_000));
  });

  it('two kernels on one file agree as soon as each has heard of it', { timeout: 120_000 }, async () => {
    const clock = handClock();
    const options = { clock, store: newStore(), workspace: tempFolder(), node: { executor: false, pollMs: 5 } };
    const kernels = [(await stage(options)).kernel, (await stage(options)).kernel];
    const theatre = new Theatre(kernels, clock);
    await fc.assert(
      fc.asyncProperty(scripts, (steps) => theatre.play(steps)),
      seeded({ numRuns: inSweep(80) }),
    );
    expect(deeds.filter((deed) => theatre.done(deed) < inSweep(5))).toEqual([]);
    for (const kernel of kernels) await checkInvariants(kernel, options.store);
  });
});

/** Plays scripts on kernels that share a store, and compares what they say after each step. */
class Theatre {
  compared = 0;
  private readonly counts = new Map<Deed, number>();
  private readonly seats: Seat[];
  private readonly worlds: WorldStore;
  private readonly store: Store;

  constructor(
    private readonly kernels: readonly Kernel[],
    private readonly clock: ReturnType<typeof handClock>,
  ) {
    const first = this.kernel(0);
    this.seats = kernels.map((kernel) => new Seat(kernel));
    this.worlds = new WorldStore(first);
    this.store = first.container.get<Store>(Store);
  }

  done(deed: Deed): number {
    return this.counts.get(deed) ?? 0;
  }

  async play(script: readonly Step[]): Promise<void> {
    const cast = new Cast(this.clock);
    await cast.begin(this.kernel(0));
    try {
      for (const [turn, steps] of together(script).entries()) {
        await Promise.all([...steps.map((step) => this.step(cast, step)), this.watching(cast, steps)]);
        await this.compare(cast, turn);
      }
    } finally {
      await cast.end(this.kernel(0));
      for (const seat of this.seats) await seat.caughtUp();
    }
  }

  private async step(cast: Cast, step: Step): Promise<void> {
    for (let turn = 0; turn < step.lead; turn++) await immediate();
    if (!(await cast.does(this.kernel(step.by), step))) return;
    this.counts.set(step.deed, this.done(step.deed) + 1);
  }

  /** Asks everybody everything while it changes; what is answered then may be old or new. */
  private async watching(cast: Cast, steps: readonly Step[]): Promise<void> {
    if (!steps.some(({ watched }) => watched)) return;
    const asked = this.asked(cast, 0);
    const first = (steps[0]?.picks[0] ?? 0) % asked.length;
    const turned = [...asked.slice(first), ...asked.slice(0, first)];
    await Promise.all(this.seats.map(({ opinions }) => opinions.told(turned)));
  }

  private async compare(cast: Cast, turn: number): Promise<void> {
    const asked = this.asked(cast, turn);
    for (const seat of this.seats) {
      const { opinions } = seat;
      // Of its own changes a kernel knows at once.
      if (this.seats.length > 1) await seat.caughtUp();
      const world = {
        ...(await this.store.read((tx) => this.worlds.world(tx, cast.pids))),
        workspace: '/',
        foldsCase: false,
      };
      const now = this.clock.now();
      const questions = await Promise.all(asked.map((one) => opinions.understood(one)));
      const expected = asked.map((one) => referenceOpinion({ ...world, now, approvals: [] }, one));
      const answered = asked.map((one) => referenceOpinion({ ...world, now }, one));
      agreed(world, asked, expected, await opinions.cached(asked, questions), 'cached');
      agreed(world, asked, expected, await opinions.uncached(asked, questions), 'uncached');
      agreed(world, asked, answered, await opinions.told(asked), 'public');
      this.compared += asked.length;
    }
  }

  /** A part of all questions, another one at each turn. */
  private asked(cast: Cast, turn: number): Asked[] {
    const all = askedOf([...cast.pids, 'p_none'], cast.results);
    const some = all.filter((_, index) => index % 4 === turn % 4);
    return some.map((one) => ({ ...one, ...namesOf(one.resource, false), now: this.clock.now() }));
  }

  private kernel(index: number): Kernel {
    return this.kernels[index % this.kernels.length] as Kernel;
  }
}

/** One kernel, and how far it has heard of what others do. */
class Seat {
  readonly opinions: Opinions;
  private readonly store: Store;
  private readonly events: EventRepository;
  private heard: number | undefined;

  constructor(kernel: Kernel) {
    const { container } = kernel;
    this.store = container.get<Store>(Store);
    this.events = container.get<EventRepository>(EventRepository);
    this.opinions = new Opinions(kernel);
    container.get(EventFeed).onAdvance((seq) => {
      this.heard = seq;
    });
  }

  async caughtUp(): Promise<void> {
    const head = await this.store.read((tx) => this.events.head(tx));
    while ((this.heard ?? 0) < head) await pause(1);
  }
}

/** The steps that are done at the same time. */
function together(script: readonly Step[]): Step[][] {
  const groups: Step[][] = [];
  let isOpen = false;
  for (const step of script) {
    if (isOpen) groups.at(-1)?.push(step);
    else groups.push([step]);
    isOpen = step.joined;
  }
  return groups;
}
