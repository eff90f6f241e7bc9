import { inject, injectable } from 'inversify';
import type { CapabilityId, Pid } from '../base/ids.js';
import type { JsonValue } from '../base/json.js';
import type { ProcessCaller } from '../unit/caller.js';
import type { Decision, Explanation } from './decision/decision.js';
import type { Capability, CapabilitySpec, DelegationSpec } from './holding/capability.js';
import type { Right } from './resource/rights.js';
import { Check } from './syscalls/check.js';
import { Delegate } from './syscalls/delegate.js';
import { CapabilityQueries } from './syscalls/queries.js';
import { RequestCapability } from './syscalls/request.js';
import { Require } from './syscalls/require.js';
import { type RevocationReport, Revoke } from './syscalls/revoke.js';

/** What a process may do with its own authority. It sees what it holds itself, and of a rule only that there is one. */
export interface ProcessCapabilities {
  list(): Promise<Capability[]>;
  check(right: Right, resource: string, args?: JsonValue): Promise<Decision>;
  explain(right: Right, resource: string, args?: JsonValue): Promise<Explanation>;
  /**
   * Audited; takes a use. Where a rule asks, it waits for the answer of a person. Throws CAPABILITY_DENIED,
   * CAPABILITY_REVOKED, CAPABILITY_EXPIRED, APPROVAL_DENIED, CANCELLED.
   */
  require(right: Right, resource: string, args?: JsonValue): Promise<Decision>;
  /**
   * Asks a person for a capability, and waits for the answer. `signal` ends the waiting and leaves the question: the same
   * request later waits for the same answer. Throws APPROVAL_DENIED, CAPABILITY_DENIED, CANCELLED.
   */
  request(spec: CapabilitySpec, options?: { signal?: AbortSignal }): Promise<Capability>;
  /** A narrower copy for itself. Throws AMPLIFICATION, NO_SUCH_CAPABILITY. */
  derive(spec: DelegationSpec): Promise<Capability>;
  /** To a child, the parent, or a process that it may send to. Throws AMPLIFICATION, CAPABILITY_DENIED. */
  delegate(to: Pid, spec: DelegationSpec): Promise<Capability>;
  /** What it holds, or what came from it. Throws NO_SUCH_CAPABILITY. */
  revoke(capability: CapabilityId, options?: { reason?: string }): Promise<RevocationReport>;
}

/** Makes the capability part of process faces. */
@injectable()
export class CapabilityFaces {
  constructor(
    @inject(Delegate) private readonly delegating: Delegate,
    @inject(Revoke) private readonly revoking: Revoke,
    @inject(Check) private readonly explaining: Check,
    @inject(Require) private readonly requiring: Require,
    @inject(RequestCapability) private readonly requesting: RequestCapability,
    @inject(CapabilityQueries) private readonly queries: CapabilityQueries,
  ) {}

  of(caller: ProcessCaller): ProcessCapabilities {
    const { pid } = caller;
    return {
      list: async () => this.queries.list(pid),
      check: async (right, resource, args) => this.explaining.check(caller, pid, right, resource, args),
      explain: async (right, resource, args) => this.explaining.explain(caller, pid, right, resource, args),
      require: async (right, resource, args) => this.requiring.run(caller, pid, right, resource, args),
      request: async (spec, options) => this.requesting.run(caller, spec, options),
      derive: async (spec) => this.delegating.derive(caller, pid, spec),
      delegate: async (to, spec) => this.delegating.delegate(caller, pid, to, spec),
      revoke: async (capability, options) => this.revoking.run(caller, capability, options),
    };
  }
}
