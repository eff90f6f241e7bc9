import { inject, injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import type { ReadTx } from '../../base/store.js';
import type { Question } from '../decision/question.js';
import { CaseFolding } from '../resource/case-folding.js';
import { coveringTexts } from '../resource/covering-texts.js';
import type { Pattern, Request } from '../resource/resource.js';
import type { ResourceKind } from '../resource/resource-kind.js';
import { covers, matches } from '../resource/resource-matching.js';
import type { CapabilityRecord } from './capability-record.js';
import { CapabilityRepository } from './capability-repository.js';

const nearRows = 200;

type Asked = Pick<Question, 'pid' | 'names' | 'isEither'>;

/** Finds what a process holds on a resource, dead or alive, without looking through the rest of what it holds. */
@injectable()
export class Holdings {
  constructor(
    @inject(CapabilityRepository) private readonly repository: CapabilityRepository,
    @inject(CaseFolding) private readonly names: CaseFolding,
  ) {}

  /** Those that a question is about: whose pattern matches all of its names, or one where that is enough. */
  async matching(tx: ReadTx, { pid, names, isEither }: Asked): Promise<CapabilityRecord[]> {
    if (isEither === true)
      return (await Promise.all(names.map((name) => this.matching(tx, { pid, names: [name] })))).flat();
    const [first] = names;
    if (first === undefined) return [];
    const found = await this.including(tx, pid, first);
    return found.filter(({ resource }) => names.every((name) => matches(this.names.pattern(resource), name)));
  }

  /** Those whose pattern covers `pattern`. */
  async covering(tx: ReadTx, pid: Pid, pattern: Pattern): Promise<CapabilityRecord[]> {
    const found = await this.including(tx, pid, pattern);
    const compared = this.names.pattern(pattern.text);
    return found.filter(({ resource }) => covers(this.names.pattern(resource), compared));
  }

  /** Some of those on the same kind of resource, for telling what came near. */
  near(tx: ReadTx, pid: Pid, kind: ResourceKind): Promise<readonly CapabilityRecord[]> {
    return this.repository.heldPage(tx, pid, { kind, limit: nearRows });
  }

  private async including(tx: ReadTx, pid: Pid, resource: Pattern | Request): Promise<readonly CapabilityRecord[]> {
    if (this.names.folds(resource.kind)) return this.repository.heldBy(tx, pid, resource.kind);
    const texts = await coveringTexts(resource, (prefix) => this.repository.holdsWithin(tx, pid, prefix));
    return this.repository.heldOn(tx, pid, texts);
  }
}
