import type { Pid } from '../base/ids.js';
import type { ReadTx, WriteTx } from '../base/store.js';
import { type Token, token } from '../base/token.js';

/** Which children's ends have been returned by a wait of their parent. */
export interface WaitRepository {
  isReaped(tx: ReadTx, parent: Pid, child: Pid): Promise<boolean>;
  reap(tx: WriteTx, parent: Pid, child: Pid): Promise<void>;
  /** The children of `parent`, live or ended, that no wait has returned, in order of birth. */
  unreaped(tx: ReadTx, parent: Pid): Promise<Pid[]>;
}
export const WaitRepository: Token<WaitRepository> = token('WaitRepository');
