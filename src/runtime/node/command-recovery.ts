import type { NodeId } from '../../base/ids.js';
import { type Token, token } from '../../base/token.js';
import type { RecoveryReport } from './recovery-report.js';

/** What becomes of the commands of a node that is gone: they may live on without it. */
export interface CommandRecovery {
  /** Judges each by what the operating system knows. To be called when the epoch of `node` has ended. */
  recover(node: NodeId): Promise<RecoveryReport>;
}
export const CommandRecovery: Token<CommandRecovery> = token('CommandRecovery');
