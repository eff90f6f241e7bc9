import { type Token, token } from '../../base/token.js';
import type { NamedFace } from '../../unit/faces.js';
import type { HostSyscalls, SharedSyscalls, TargetSyscalls } from './process-syscalls.js';

/** The process table: one lifecycle, one tree and one signal path for everything that runs. The host's face of it. */
export type ProcessManager = NamedFace<SharedSyscalls> & NamedFace<TargetSyscalls> & NamedFace<HostSyscalls>;
export const ProcessManager: Token<ProcessManager> = token('ProcessManager');
