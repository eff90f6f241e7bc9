import type { Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';
import type { ProcessRow } from '../process/process.js';

/** Marks of the children whose ends a wait of their parent has returned. */
export interface WaitRepository {
  isReaped(tx: ReadTx, child: ProcessRow): Promise<boolean>;
  reap(tx: WriteTx, child: ProcessRow): Promise<void>;
  /** The children of `parent`, live or ended, that no wait has returned, in the order of creation. */
  findUnreaped(tx: ReadTx, parent: Pid): Promise<Pid[]>;
}
export const WaitRepository: Token<WaitRepository> = token('WaitRepository');
