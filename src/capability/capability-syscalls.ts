import { inject, injectable } from 'inversify';
import type { CapabilityId, Pid, RuleId } from '../base/ids.js';
import type { JsonValue } from '../base/json.js';
import type { Caller, ProcessCaller } from '../unit/caller.js';
import { Units } from '../unit/units.js';
import type { Decision, Explanation } from './decision/decision.js';
import type { Capability, CapabilitySpec, DelegationSpec, Resources } from './holding/capability.js';
import type { Right } from './resource/rights.js';
import type { Rule, RuleSpec } from './rule/rule.js';
import { Check } from './syscalls/check.js';
import { Delegate } from './syscalls/delegate.js';
import { Grant } from './syscalls/grant.js';
import { Policy } from './syscalls/policy.js';
import { CapabilityQueries } from './syscalls/queries.js';
import { RequestCapability } from './syscalls/request.js';
import { Require } from './syscalls/require.js';
import { type RevocationReport, Revoke } from './syscalls/revoke.js';
import { Transfer } from './syscalls/transfer.js';

/** Syscalls upon the authority of a process: a process makes them for itself, the host for the process that it names. */
@injectable()
export class SharedCapabilitySyscalls {
  constructor(
    @inject(Check) private readonly checking: Check,
    @inject(Require) private readonly requiring: Require,
    @inject(Delegate) private readonly delegating: Delegate,
  ) {}

  /** Has no effect, is not audited and never throws for a bad request. */
  check(caller: Caller, pid: Pid, right: Right, resource: string, args?: JsonValue): Promise<Decision> {
    return this.checking.check(caller, pid, right, resource, args);
  }

  /** The same decision as `check`, with the capabilities that came near and what would remedy a refusal. */
  explain(caller: Caller, pid: Pid, right: Right, resource: string, args?: JsonValue): Promise<Explanation> {
    return this.checking.explain(caller, pid, right, resource, args);
  }

  /**
   * Audited; takes a use. Where a rule asks, a process waits for the answer of a person, and the host gets
   * APPROVAL_PENDING with the approval among its facts: after the answer the same call goes through. Throws
   * CAPABILITY_DENIED, CAPABILITY_REVOKED, CAPABILITY_EXPIRED, APPROVAL_DENIED, CANCELLED.
   */
  require(caller: Caller, pid: Pid, right: Right, resource: string, args?: JsonValue): Promise<Decision> {
    return this.requiring.run(caller, pid, right, resource, args);
  }

  /** Makes a narrower copy for the process itself; of a list of resources one each. Throws AMPLIFICATION, NO_SUCH_CAPABILITY. */
  derive(caller: Caller, pid: Pid, spec: DelegationSpec<readonly string[]>): Promise<Capability[]>;
  derive(caller: Caller, pid: Pid, spec: DelegationSpec): Promise<Capability>;
  derive(caller: Caller, pid: Pid, spec: DelegationSpec<Resources>): Promise<Capability | Capability[]> {
    return this.delegating.derive(caller, pid, spec);
  }

  /**
   * Hands on what the process holds, never wider. A process delegates to a child, its parent, or a process that it may
   * send to. Of a list of resources one capability each, all or none. Throws AMPLIFICATION, CAPABILITY_DENIED,
   * NO_SUCH_CAPABILITY.
   */
  delegate(caller: Caller, pid: Pid, to: Pid, spec: DelegationSpec<readonly string[]>): Promise<Capability[]>;
  delegate(caller: Caller, pid: Pid, to: Pid, spec: DelegationSpec): Promise<Capability>;
  delegate(caller: Caller, pid: Pid, to: Pid, spec: DelegationSpec<Resources>): Promise<Capability | Capability[]> {
    return this.delegating.delegate(caller, pid, to, spec);
  }
}

/** Syscalls upon a capability that is named by its id. */
@injectable()
export class CapabilityTargetSyscalls {
  constructor(@inject(Revoke) private readonly revoking: Revoke) {}

  /**
   * Ends a capability and everything derived from it. A process revokes what it holds, or what came from it. Throws
   * NO_SUCH_CAPABILITY.
   */
  revoke(caller: Caller, capability: CapabilityId, options?: { reason?: string }): Promise<RevocationReport> {
    return this.revoking.run(caller, capability, options);
  }
}

/** Syscalls that only a process makes, for itself. */
@injectable()
export class ProcessCapabilitySyscalls {
  constructor(
    @inject(CapabilityQueries) private readonly queries: CapabilityQueries,
    @inject(RequestCapability) private readonly requesting: RequestCapability,
    @inject(Units) private readonly units: Units,
  ) {}

  /** The live capabilities that it holds. Throws PROCESS_TERMINATED. */
  async list(caller: ProcessCaller, pid: Pid): Promise<Capability[]> {
    await this.units.assertMayLook(caller);
    return this.queries.list(pid);
  }

  /**
   * Asks a person for a capability, and waits for the answer. `signal` ends the waiting and leaves the question: the same
   * request later waits for the same answer. Throws APPROVAL_DENIED, CAPABILITY_DENIED, CANCELLED.
   */
  request(
    caller: ProcessCaller,
    _pid: Pid,
    spec: CapabilitySpec,
    options?: { signal?: AbortSignal },
  ): Promise<Capability> {
    return this.requesting.run(caller, spec, options);
  }
}

/** Syscalls that only the host makes. */
@injectable()
export class HostCapabilitySyscalls {
  constructor(
    @inject(Grant) private readonly granting: Grant,
    @inject(Transfer) private readonly transferring: Transfer,
    @inject(Policy) private readonly policy: Policy,
    @inject(CapabilityQueries) private readonly queries: CapabilityQueries,
  ) {}

  /**
   * Gives a process a root capability; of a list of resources one each. Throws NO_SUCH_PROCESS, PROCESS_TERMINATED,
   * INVALID_INPUT.
   */
  grant(_caller: Caller, pid: Pid, spec: CapabilitySpec<readonly string[]>): Promise<Capability[]>;
  grant(_caller: Caller, pid: Pid, spec: CapabilitySpec): Promise<Capability>;
  grant(_caller: Caller, pid: Pid, spec: CapabilitySpec<Resources>): Promise<Capability | Capability[]> {
    return this.granting.run(pid, spec);
  }

  /** Same id, new holder; what was derived from it stays. Throws as `delegate`. */
  transfer(_caller: Caller, from: Pid, to: Pid, capability: CapabilityId): Promise<Capability> {
    return this.transferring.run(from, to, capability);
  }

  /**
   * Forbids something to a process and everything spawned under it, or to all, whatever capabilities they hold; of a list of
   * resources one rule each. The same rule under the same id again is that rule. Throws NO_SUCH_PROCESS, INVALID_INPUT,
   * CONFLICT for another rule under an id.
   */
  deny(_caller: Caller, pid: Pid | '*', spec: RuleSpec<readonly string[]>): Promise<Rule[]>;
  deny(_caller: Caller, pid: Pid | '*', spec: RuleSpec): Promise<Rule>;
  deny(_caller: Caller, pid: Pid | '*', spec: RuleSpec<Resources>): Promise<Rule | Rule[]> {
    return this.policy.set('deny', pid, spec);
  }

  /** Wants a person to approve it, whatever capability there is: see `kernel.approvals`. Otherwise as `deny`. */
  ask(_caller: Caller, pid: Pid | '*', spec: RuleSpec<readonly string[]>): Promise<Rule[]>;
  ask(_caller: Caller, pid: Pid | '*', spec: RuleSpec): Promise<Rule>;
  ask(_caller: Caller, pid: Pid | '*', spec: RuleSpec<Resources>): Promise<Rule | Rule[]> {
    return this.policy.set('ask', pid, spec);
  }

  /**
   * Those set on `pid` itself, or without `pid` on any, that can still bind a process; with `all` also those that have expired
   * and those on processes that have ended with everything spawned under them.
   */
  rules(_caller: Caller, pid?: Pid | '*', options?: { all?: boolean }): Promise<Rule[]> {
    return this.policy.rules(pid, options);
  }

  /** Removes a rule. Throws NO_SUCH_RULE. */
  lift(_caller: Caller, rule: RuleId, options?: { reason?: string }): Promise<void> {
    return this.policy.lift(rule, options);
  }

  list(_caller: Caller, pid: Pid, options?: { status?: 'live' | 'any'; limit?: number }): Promise<Capability[]> {
    return this.queries.list(pid, options);
  }

  /** Throws NO_SUCH_CAPABILITY. */
  get(_caller: Caller, capability: CapabilityId): Promise<Capability> {
    return this.queries.get(capability);
  }

  /** The live processes that may, whatever the arguments. */
  whoCan(_caller: Caller, right: Right, resource: string): Promise<Pid[]> {
    return this.queries.whoCan(right, resource);
  }

  /** Itself first, up to the root grant. */
  chain(_caller: Caller, capability: CapabilityId): Promise<Capability[]> {
    return this.queries.chain(capability);
  }
}
