import { inject, injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import type { ReadTx } from '../../base/store.js';
import type { Request } from '../resource/resource.js';
import type { Right } from '../resource/rights.js';
import { CapabilityRepository } from './capability-repository.js';

/** Built-in rights: to wait for, signal and write to one's own children, and to write to one's own parent. */
@injectable()
export class FamilyRights {
  constructor(@inject(CapabilityRepository) private readonly repository: CapabilityRepository) {}

  /** Whether `pid`, whose parent is `parent`, may do this because of who it is. */
  async may(tx: ReadTx, pid: Pid, parent: Pid | null, right: Right, request: Request): Promise<boolean> {
    const other = kinOf(right, request);
    if (other === undefined) return false;
    if (right === 'send' && parent === other) return true;
    return (await this.repository.holder(tx, other))?.parent === pid;
  }

  /** All those who may, the ended ones among them. */
  async of(tx: ReadTx, right: Right, request: Request): Promise<Pid[]> {
    const other = kinOf(right, request);
    const holder = other === undefined ? undefined : await this.repository.holder(tx, other);
    if (other === undefined || holder === undefined) return [];
    const children = right === 'send' ? await this.repository.children(tx, other) : [];
    return holder.parent === null ? [...children] : [holder.parent, ...children];
  }
}

/** The process that the request names, if the right is one that kin have. */
export function kinOf(right: Right, { kind, segments }: Request): Pid | undefined {
  const isKinRight = right === 'wait' || right === 'signal' || right === 'send';
  return kind === 'process' && isKinRight ? segments.join('/') : undefined;
}
