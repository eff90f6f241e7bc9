import { inject, injectable } from 'inversify';
import { z } from 'zod';
import { Clock, type KernelClock } from '../../base/clock.js';
import type { Pid } from '../../base/ids.js';
import { parseSpec } from '../../base/spec.js';
import { Store } from '../../base/store.js';
import type { Capability } from '../capability.js';
import { storedPattern } from '../capability-record.js';
import { CapabilityRepository } from '../capability-repository.js';
import { allows } from '../decision.js';
import { Evaluator, type Question } from '../evaluator.js';
import { Holders } from '../holders.js';
import { Kin } from '../kin.js';
import { Listing } from '../listing.js';
import { named } from '../named.js';
import { matches } from '../resource-coverage.js';
import { maskOfRights } from '../rights.js';
import { parseQuestion } from './explain.js';

const listOptions = z.strictObject({
  status: z.enum(['live', 'any']).default('live'),
  limit: z.number().int().min(1).max(100_000).default(10_000),
});
const pageRows = 1_000;

/** What is held, by whom, and where it came from. */
@injectable()
export class CapabilityQueries {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(CapabilityRepository) private readonly repository: CapabilityRepository,
    @inject(Holders) private readonly holders: Holders,
    @inject(Listing) private readonly listing: Listing,
    @inject(Evaluator) private readonly evaluator: Evaluator,
    @inject(Kin) private readonly kin: Kin,
  ) {}

  /** Throws NO_SUCH_PROCESS. */
  async list(input: unknown, given: unknown = {}): Promise<Capability[]> {
    const pid = named(input, 'pid');
    const { status, limit } = parseSpec(listOptions, given, 'options');
    return this.store.read(async (tx) => {
      await this.holders.any(tx, pid);
      const shown: Capability[] = [];
      for (const record of await this.repository.heldBy(tx, pid)) {
        if (shown.length === limit) break;
        const capability = await this.listing.shown(tx, record);
        if (status === 'any' || capability.status === 'live') shown.push(capability);
      }
      return shown;
    });
  }

  /** Throws NO_SUCH_CAPABILITY. */
  async get(input: unknown): Promise<Capability> {
    const capability = named(input, 'capability');
    return this.store.read(async (tx) => this.listing.shown(tx, await this.listing.record(tx, capability)));
  }

  /** Throws NO_SUCH_CAPABILITY. */
  async chain(input: unknown): Promise<Capability[]> {
    const capability = named(input, 'capability');
    return this.store.read(async (tx) => this.listing.chain(tx, await this.listing.record(tx, capability)));
  }

  /** Those who may, with one arguments or another. Looks through the whole table, in pages. Throws INVALID_INPUT. */
  async whoCan(right: unknown, resource: unknown): Promise<Pid[]> {
    const { args: _any, ...question } = parseQuestion('', right, resource, {});
    const able: Pid[] = [];
    for (const pid of await this.candidates(question)) {
      const asked = { ...question, pid };
      const { code } = await this.store.read((tx) => this.evaluator.decide(tx, asked, this.clock.peek()));
      if (allows(code)) able.push(pid);
    }
    return able.sort();
  }

  private async candidates({ right, request }: Question): Promise<Set<Pid>> {
    const found = new Set(await this.store.read((tx) => this.kin.of(tx, right, request)));
    const mask = maskOfRights([right]);
    for (let after = 0, more = true; more; ) {
      const from = after;
      const page = await this.store.read((tx) => this.repository.scan(tx, from, pageRows));
      for (const { holder, resource, rights } of page) {
        if ((rights & mask) !== 0 && matches(storedPattern(resource), request)) found.add(holder);
      }
      after = page.at(-1)?.n ?? after;
      more = page.length === pageRows;
    }
    return found;
  }
}
