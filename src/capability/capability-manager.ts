import { type Token, token } from '../base/token.js';
import type { NamedFace } from '../unit/faces.js';
import type {
  CapabilityTargetSyscalls,
  HostCapabilitySyscalls,
  SharedCapabilitySyscalls,
} from './capability-syscalls.js';

/** Authority: who holds what, why, and what it allows. The host's face of it. */
export interface CapabilityManager
  extends NamedFace<SharedCapabilitySyscalls>,
    NamedFace<CapabilityTargetSyscalls>,
    NamedFace<HostCapabilitySyscalls> {}
export const CapabilityManager: Token<CapabilityManager> = token('CapabilityManager');
