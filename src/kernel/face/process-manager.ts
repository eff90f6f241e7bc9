import { type Token, token } from '../../base/token.js';
import type { NamedFace } from '../../unit/faces.js';
import type { HostSyscalls } from './host-syscalls.js';
import type { SharedSyscalls, TargetSyscalls } from './process-syscalls.js';
import type { HostTypedCalls } from './typed-calls.js';

type HostFace = NamedFace<SharedSyscalls> & NamedFace<TargetSyscalls> & NamedFace<HostSyscalls>;

/** The process table: one lifecycle, one tree and one signal path for everything that runs. The host's face of it. */
export interface ProcessManager extends Omit<HostFace, keyof HostTypedCalls>, HostTypedCalls {}
export const ProcessManager: Token<ProcessManager> = token('ProcessManager');
