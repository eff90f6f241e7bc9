import { inject, injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import type { ReadTx } from '../../base/store.js';
import type { Question } from '../decision/question.js';
import { CaseFolding } from '../resource/case-folding.js';
import { coveringTexts } from '../resource/pattern-index.js';
import { covers, matches, type Pattern, type Request, type ResourceKind } from '../resource/resource.js';
import type { CapabilityRecord } from './capability-record.js';
import { CapabilityRepository } from './capability-repository.js';

const nearRows = 200;

/** Finds the capabilities of a process on a resource, dead or alive, without scanning everything that it holds. */
@injectable()
export class Holdings {
  constructor(
    @inject(CapabilityRepository) private readonly repository: CapabilityRepository,
    @inject(CaseFolding) private readonly caseFolding: CaseFolding,
  ) {}

  /** Those whose pattern matches all names of a question, or one of them with `matchesAnyName`. */
  async findMatching(
    tx: ReadTx,
    { pid, names, matchesAnyName }: Pick<Question, 'pid' | 'names' | 'matchesAnyName'>,
  ): Promise<CapabilityRecord[]> {
    if (matchesAnyName === true)
      return (await Promise.all(names.map((name) => this.findMatching(tx, { pid, names: [name] })))).flat();
    const [first] = names;
    if (first === undefined) return [];
    const found = await this.findCandidates(tx, pid, first);
    return found.filter(({ resource }) => names.every((name) => matches(this.caseFolding.foldStored(resource), name)));
  }

  /** Those whose pattern covers `pattern`. */
  async findCovering(tx: ReadTx, pid: Pid, pattern: Pattern): Promise<CapabilityRecord[]> {
    const found = await this.findCandidates(tx, pid, pattern);
    const folded = this.caseFolding.foldStored(pattern.text);
    return found.filter(({ resource }) => covers(this.caseFolding.foldStored(resource), folded));
  }

  /** Some of those on the same kind of resource, for near misses. */
  findNear(tx: ReadTx, pid: Pid, kind: ResourceKind): Promise<readonly CapabilityRecord[]> {
    return this.repository.pageByHolder(tx, pid, { kind, limit: nearRows });
  }

  /** A superset of those whose pattern includes `resource`. */
  private async findCandidates(
    tx: ReadTx,
    pid: Pid,
    resource: Pattern | Request,
  ): Promise<readonly CapabilityRecord[]> {
    if (this.caseFolding.appliesTo(resource.kind)) return this.repository.findByHolder(tx, pid, resource.kind);
    const texts = await coveringTexts(resource, (prefix) => this.repository.hasResourcePrefix(tx, pid, prefix));
    return this.repository.findByResource(tx, pid, texts);
  }
}
