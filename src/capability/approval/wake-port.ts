import type { Pid } from '../../base/ids.js';
import type { WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';
import type { Act } from '../../unit/act.js';

/** Wakes processes in the commit of what they waited for. Implemented by a higher layer, which knows processes. */
export interface WakePort {
  /** Wakes `pid` if `what`, as `kind:id`, is among what it waits for. */
  wake(tx: WriteTx, act: Act, pid: Pid, what: string): Promise<void>;
}
export const WakePort: Token<WakePort> = token('WakePort');
