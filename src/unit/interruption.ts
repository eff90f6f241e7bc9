import { KernelError } from '../base/errors.js';
import type { Pid } from '../base/ids.js';
import { type Token, token } from '../base/token.js';
import type { Act } from './act.js';
import type { Call } from './caller.js';

/**
 * Thrown inside a unit that cannot go on yet. It is not a refusal: the unit is undone, the interruption is resolved
 * outside of any transaction, and the unit runs again from its start, so that everything is checked anew.
 */
export abstract class Interruption extends KernelError {}

/** The process of the caller is paused. Resolved when the process is resumed. */
export class PausedInterruption extends Interruption {
  constructor(readonly waitUntilResumed: () => Promise<void>) {
    super('PARKED', 'The process is paused.', { hint: 'The call goes on when the process is resumed.' });
  }
}

/** The deadline of the process that acts has passed. Resolved by stopping the process; the call is refused then. */
export class DeadlineInterruption extends Interruption {
  constructor(readonly pid: Pid) {
    super('CANCELLED', `The deadline of process ${pid} has passed.`, { facts: { pid }, hint: 'It is being stopped.' });
  }
}

/** Resolves the interruptions that other layers throw, such as a question for a person. */
export interface InterruptionHandler {
  /** Resolves when the unit is worth running again. Throws the refusal when it is not. */
  resolve(call: Call, act: Act, interruption: Interruption): Promise<void>;
  /** Whether the handler writes the audit record of this refusal itself. */
  hasOwnRecord(refusal: KernelError): boolean;
}
export const InterruptionHandler: Token<InterruptionHandler> = token('InterruptionHandler');
