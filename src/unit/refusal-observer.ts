import type { KernelError } from '../base/errors.js';
import type { Pid } from '../base/ids.js';
import type { WriteTx } from '../base/store.js';
import { type Token, token } from '../base/token.js';
import type { Act } from './act.js';

/** A call that was refused. `pid` is the process that was refused, or that the host's call was about. */
export interface RefusedCall {
  readonly act: Act;
  readonly pid: Pid | undefined;
  readonly error: KernelError;
}

/** Reacts to refusals. Any number of observers can be bound. */
export interface RefusalObserver {
  /** In the transaction of the audit record, to append events. Not called for a refusal that was only counted. */
  onRecord?(tx: WriteTx, refused: RefusedCall): void;
  /** After every refusal, in transactions of its own. */
  onRefusal?(refused: RefusedCall): Promise<void>;
}
export const RefusalObserver: Token<RefusalObserver> = token('RefusalObserver');
