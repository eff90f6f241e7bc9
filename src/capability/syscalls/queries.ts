import { inject, injectable } from 'inversify';
import { z } from 'zod';
import { Clock, type KernelClock } from '../../base/clock.js';
import type { Pid } from '../../base/ids.js';
import { parseSpec } from '../../base/spec.js';
import { Store } from '../../base/store.js';
import { allows } from '../decision/decision.js';
import { Evaluator } from '../decision/evaluator.js';
import type { Question } from '../decision/question.js';
import { Questions } from '../decision/questions.js';
import type { Capability } from '../holding/capability.js';
import { CapabilityRepository, type NumberedCapability } from '../holding/capability-repository.js';
import { CapabilityViews } from '../holding/capability-views.js';
import { FamilyRights } from '../holding/family-rights.js';
import { HolderLookup } from '../holding/holders.js';
import { parseId } from '../named.js';
import { CaseFolding } from '../resource/case-folding.js';
import { matches } from '../resource/resource-matching.js';
import { maskOfRight } from '../resource/rights.js';

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
    @inject(HolderLookup) private readonly holders: HolderLookup,
    @inject(CapabilityViews) private readonly listing: CapabilityViews,
    @inject(Evaluator) private readonly evaluator: Evaluator,
    @inject(FamilyRights) private readonly kin: FamilyRights,
    @inject(Questions) private readonly questions: Questions,
    @inject(CaseFolding) private readonly names: CaseFolding,
  ) {}

  /** Throws NO_SUCH_PROCESS. */
  async list(input: unknown, given: unknown = {}): Promise<Capability[]> {
    const pid = parseId(input, 'pid');
    const { status, limit } = parseSpec(listOptions, given, 'options');
    await this.store.read((tx) => this.holders.any(tx, pid));
    const shown: Capability[] = [];
    for (let after: NumberedCapability | undefined, more = true; more && shown.length < limit; ) {
      const page = await this.store.read(async (tx) => {
        const records = await this.repository.heldPage(tx, pid, { after, limit: pageRows });
        for (const record of records) {
          const capability = await this.listing.shown(tx, record);
          if (status === 'any' || capability.status === 'live') shown.push(capability);
        }
        return records;
      });
      after = page.at(-1);
      more = page.length === pageRows;
    }
    return shown.slice(0, limit);
  }

  /** Throws NO_SUCH_CAPABILITY. */
  async get(input: unknown): Promise<Capability> {
    const capability = parseId(input, 'capability');
    return this.store.read(async (tx) => this.listing.shown(tx, await this.listing.record(tx, capability)));
  }

  /** Throws NO_SUCH_CAPABILITY. */
  async chain(input: unknown): Promise<Capability[]> {
    const capability = parseId(input, 'capability');
    return this.store.read(async (tx) => this.listing.chain(tx, await this.listing.record(tx, capability)));
  }

  /** Those who may, with one arguments or another. Looks through the whole table, in pages. Throws INVALID_INPUT. */
  async whoCan(right: unknown, resource: unknown): Promise<Pid[]> {
    const { args: _any, ...question } = await this.questions.of('', right, resource, {});
    const able: Pid[] = [];
    for (const pid of await this.candidates(question)) {
      const asked = { ...question, pid };
      const { code } = await this.store.read((tx) => this.evaluator.decide(tx, asked, this.clock.peek()));
      if (allows(code)) able.push(pid);
    }
    return able.sort();
  }

  private async candidates({ right, request, names }: Question): Promise<Set<Pid>> {
    const found = new Set(await this.store.read((tx) => this.kin.of(tx, right, request)));
    const mask = maskOfRight(right);
    for (let after = 0, more = true; more; ) {
      const from = after;
      const page = await this.store.read((tx) => this.repository.scan(tx, from, pageRows));
      for (const { holder, resource, rights } of page) {
        if ((rights & mask) === 0) continue;
        if (names.every((name) => matches(this.names.pattern(resource), name))) found.add(holder);
      }
      after = page.at(-1)?.n ?? after;
      more = page.length === pageRows;
    }
    return found;
  }
}
