import { inject, injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import type { ReadTx } from '../../base/store.js';
import type { Request } from '../resource/resource.js';
import type { Right } from '../resource/rights.js';
import { CapabilityRepository } from './capability-repository.js';

/** Rights of every process without a capability: to wait for, signal and send to its children, and send to its parent. */
@injectable()
export class FamilyRights {
  constructor(@inject(CapabilityRepository) private readonly repository: CapabilityRepository) {}

  /** Whether `pid`, whose parent is `parent`, may do this by its family tie. */
  async isAllowed(tx: ReadTx, pid: Pid, parent: Pid | null, right: Right, request: Request): Promise<boolean> {
    const target = kinTargetOf(right, request);
    if (target === undefined) return false;
    if (right === 'send' && parent === target) return true;
    return (await this.repository.findHolder(tx, target))?.parent === pid;
  }

  /** All processes that may do this by their family tie, ended ones among them. */
  async findAllowed(tx: ReadTx, right: Right, request: Request): Promise<Pid[]> {
    const target = kinTargetOf(right, request);
    const holder = target === undefined ? undefined : await this.repository.findHolder(tx, target);
    if (target === undefined || holder === undefined) return [];
    const children = right === 'send' ? await this.repository.findChildren(tx, target) : [];
    return holder.parent === null ? [...children] : [holder.parent, ...children];
  }
}

/** The process that the request names, if a family tie can give the right; undefined otherwise. */
export function kinTargetOf(right: Right, { kind, segments }: Request): Pid | undefined {
  const isKinRight = right === 'wait' || right === 'signal' || right === 'send';
  return kind === 'process' && isKinRight ? segments.join('/') : undefined;
}
