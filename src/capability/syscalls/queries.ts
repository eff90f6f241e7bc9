import { inject, injectable } from 'inversify';
import { z } from 'zod';
import { Clock, type KernelClock } from '../../base/clock.js';
import type { Pid } from '../../base/ids.js';
import { parseId, parseSpec } from '../../base/spec.js';
import { type ReadTx, Store } from '../../base/store.js';
import { allows, kinTargetOf } from '../decision/decide.js';
import { Evaluator } from '../decision/evaluator.js';
import { type Question, QuestionParser } from '../decision/question.js';
import type { Capability } from '../holding/capability.js';
import { CapabilityRepository, type NumberedCapability } from '../holding/capability-repository.js';
import { CapabilityViews } from '../holding/capability-views.js';
import { HolderLookup } from '../holding/holders.js';
import { CaseFolding } from '../resource/case-folding.js';
import { matches, type Request } from '../resource/resource.js';
import { maskOfRight, type Right } from '../resource/rights.js';

const listOptions = z.strictObject({
  status: z.enum(['live', 'any']).default('live'),
  limit: z.number().int().min(1).max(100_000).default(10_000),
});
const pageRows = 1_000;

/** Reads which capabilities there are, who holds them, and what they were derived from. */
@injectable()
export class CapabilityQueries {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(CapabilityRepository) private readonly repository: CapabilityRepository,
    @inject(HolderLookup) private readonly holderLookup: HolderLookup,
    @inject(CapabilityViews) private readonly capabilityViews: CapabilityViews,
    @inject(Evaluator) private readonly evaluator: Evaluator,
    @inject(QuestionParser) private readonly questionParser: QuestionParser,
    @inject(CaseFolding) private readonly caseFolding: CaseFolding,
  ) {}

  /** Throws NO_SUCH_PROCESS. */
  async list(input: unknown, options: unknown = {}): Promise<Capability[]> {
    const pid = parseId(input, 'pid');
    const { status, limit } = parseSpec(listOptions, options, 'options');
    await this.store.read((tx) => this.holderLookup.findAny(tx, pid));
    const found: Capability[] = [];
    for (let after: NumberedCapability | undefined, more = true; more && found.length < limit; ) {
      const page = await this.store.read(async (tx) => {
        const records = await this.repository.pageByHolder(tx, pid, { after, limit: pageRows });
        for (const record of records) {
          const capability = await this.capabilityViews.toView(tx, record);
          if (status === 'any' || capability.status === 'live') found.push(capability);
        }
        return records;
      });
      after = page.at(-1);
      more = page.length === pageRows;
    }
    return found.slice(0, limit);
  }

  /** Throws NO_SUCH_CAPABILITY. */
  async get(input: unknown): Promise<Capability> {
    const capability = parseId(input, 'capability');
    return this.store.read(async (tx) =>
      this.capabilityViews.toView(tx, await this.capabilityViews.findRecord(tx, capability)),
    );
  }

  /** Throws NO_SUCH_CAPABILITY. */
  async chain(input: unknown): Promise<Capability[]> {
    const capability = parseId(input, 'capability');
    return this.store.read(async (tx) =>
      this.capabilityViews.chainOf(tx, await this.capabilityViews.findRecord(tx, capability)),
    );
  }

  /** The live processes that may do it with some arguments. Scans the whole table, in pages. Throws INVALID_INPUT. */
  async whoCan(right: unknown, resource: unknown): Promise<Pid[]> {
    const { args: _any, ...question } = await this.questionParser.parse('', right, resource, {});
    const allowed: Pid[] = [];
    for (const pid of await this.findCandidates(question)) {
      const ofPid = { ...question, pid };
      const { code } = await this.store.read((tx) => this.evaluator.decide(tx, ofPid, this.clock.peek()));
      if (allows(code)) allowed.push(pid);
    }
    return allowed.sort();
  }

  private async findCandidates({ right, request, names }: Question): Promise<Set<Pid>> {
    const found = new Set(await this.store.read((tx) => this.findKin(tx, right, request)));
    const mask = maskOfRight(right);
    for (let after = 0, more = true; more; ) {
      const from = after;
      const page = await this.store.read((tx) => this.repository.scan(tx, from, pageRows));
      for (const { holder, resource, rights } of page) {
        if ((rights & mask) === 0) continue;
        if (names.every((name) => matches(this.caseFolding.foldStored(resource), name))) found.add(holder);
      }
      after = page.at(-1)?.n ?? after;
      more = page.length === pageRows;
    }
    return found;
  }

  /** The processes that a family tie may allow it to. */
  private async findKin(tx: ReadTx, right: Right, request: Request): Promise<Pid[]> {
    const target = kinTargetOf(right, request);
    const holder = target === undefined ? undefined : await this.repository.findHolder(tx, target);
    if (target === undefined || holder === undefined) return [];
    const children = right === 'send' ? await this.repository.findChildren(tx, target) : [];
    return holder.parent === null ? [...children] : [holder.parent, ...children];
  }
}
