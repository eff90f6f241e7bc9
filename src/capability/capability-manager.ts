import { inject, injectable } from 'inversify';
import type { CapabilityId, Pid, RuleId } from '../base/ids.js';
import type { JsonValue } from '../base/json.js';
import { type Token, token } from '../base/token.js';
import { hostCaller } from '../unit/caller.js';
import type { Decision, Explanation } from './decision/decision.js';
import type { Capability, CapabilitySpec, DelegationSpec } from './holding/capability.js';
import type { Right } from './resource/rights.js';
import type { Rule, RuleSpec } from './rule/rule.js';
import { Check } from './syscalls/check.js';
import { Delegate } from './syscalls/delegate.js';
import { Grant } from './syscalls/grant.js';
import { Policy } from './syscalls/policy.js';
import { CapabilityQueries } from './syscalls/queries.js';
import { Require } from './syscalls/require.js';
import { type RevocationReport, Revoke } from './syscalls/revoke.js';
import { Transfer } from './syscalls/transfer.js';

/** Authority: who holds what, why, and what it allows. The host's face of it. */
export interface CapabilityManager {
  /** Gives a process a root capability. Throws NO_SUCH_PROCESS, PROCESS_TERMINATED, INVALID_INPUT. */
  grant(pid: Pid, spec: CapabilitySpec): Promise<Capability>;
  /** Hands on what `from` holds, never wider. Throws AMPLIFICATION, CAPABILITY_DENIED, NO_SUCH_CAPABILITY. */
  delegate(from: Pid, to: Pid, spec: DelegationSpec): Promise<Capability>;
  /** A narrower copy for oneself. Throws AMPLIFICATION, NO_SUCH_CAPABILITY. */
  derive(pid: Pid, spec: DelegationSpec): Promise<Capability>;
  /** Same id, new holder; what was derived from it stays. Throws as delegate. */
  transfer(from: Pid, to: Pid, capability: CapabilityId): Promise<Capability>;
  /** Ends it and everything derived from it. Throws NO_SUCH_CAPABILITY. */
  revoke(capability: CapabilityId, options?: { reason?: string }): Promise<RevocationReport>;
  /** Forbids something to a process and everything born under it, or to all; no capability helps against it. */
  deny(pid: Pid | '*', spec: RuleSpec): Promise<Rule>;
  /** Wants a person to approve it, whatever capability there is: see `kernel.approvals`. Binds as `deny` does. */
  ask(pid: Pid | '*', spec: RuleSpec): Promise<Rule>;
  /** Those set on `pid` itself; without `pid`, all. */
  rules(pid?: Pid | '*'): Promise<Rule[]>;
  /** Throws NO_SUCH_RULE. */
  lift(rule: RuleId, options?: { reason?: string }): Promise<void>;
  /** Has no effect, is not audited and never throws for a bad request. */
  check(pid: Pid, right: Right, resource: string, args?: JsonValue): Promise<Decision>;
  /**
   * Audited; takes a use. Throws CAPABILITY_DENIED, CAPABILITY_REVOKED, CAPABILITY_EXPIRED; where a rule asks,
   * APPROVAL_PENDING with the approval among its facts: after the answer the same call goes through.
   */
  require(pid: Pid, right: Right, resource: string, args?: JsonValue): Promise<Decision>;
  /** The same decision as `check`, with what came near and what would mend it. */
  explain(pid: Pid, right: Right, resource: string, args?: JsonValue): Promise<Explanation>;
  list(pid: Pid, options?: { status?: 'live' | 'any'; limit?: number }): Promise<Capability[]>;
  /** Throws NO_SUCH_CAPABILITY. */
  get(capability: CapabilityId): Promise<Capability>;
  /** The live processes that may, whatever the arguments. */
  whoCan(right: Right, resource: string): Promise<Pid[]>;
  /** Itself first, up to the root grant. */
  chain(capability: CapabilityId): Promise<Capability[]>;
}
export const CapabilityManager: Token<CapabilityManager> = token('CapabilityManager');

@injectable()
export class HostCapabilityManager implements CapabilityManager {
  constructor(
    @inject(Grant) private readonly granting: Grant,
    @inject(Delegate) private readonly delegating: Delegate,
    @inject(Transfer) private readonly transferring: Transfer,
    @inject(Revoke) private readonly revoking: Revoke,
    @inject(Policy) private readonly policy: Policy,
    @inject(Check) private readonly explaining: Check,
    @inject(Require) private readonly requiring: Require,
    @inject(CapabilityQueries) private readonly queries: CapabilityQueries,
  ) {}

  grant = async (pid: Pid, spec: CapabilitySpec) => this.granting.run(pid, spec);
  delegate = async (from: Pid, to: Pid, spec: DelegationSpec) => this.delegating.delegate(hostCaller, from, to, spec);
  derive = async (pid: Pid, spec: DelegationSpec) => this.delegating.derive(hostCaller, pid, spec);
  transfer = async (from: Pid, to: Pid, capability: CapabilityId) => this.transferring.run(from, to, capability);
  revoke = async (capability: CapabilityId, options?: { reason?: string }) =>
    this.revoking.run(hostCaller, capability, options);
  deny = async (pid: Pid | '*', spec: RuleSpec) => this.policy.set('deny', pid, spec);
  ask = async (pid: Pid | '*', spec: RuleSpec) => this.policy.set('ask', pid, spec);
  rules = async (pid?: Pid | '*') => this.policy.rules(pid);
  lift = async (rule: RuleId, options?: { reason?: string }) => this.policy.lift(rule, options);
  check = async (pid: Pid, right: Right, resource: string, args?: JsonValue) =>
    this.explaining.check(hostCaller, pid, right, resource, args);
  require = async (pid: Pid, right: Right, resource: string, args?: JsonValue) =>
    this.requiring.run(hostCaller, pid, right, resource, args);
  explain = async (pid: Pid, right: Right, resource: string, args?: JsonValue) =>
    this.explaining.explain(hostCaller, pid, right, resource, args);
  list = async (pid: Pid, options?: { status?: 'live' | 'any'; limit?: number }) => this.queries.list(pid, options);
  get = async (capability: CapabilityId) => this.queries.get(capability);
  whoCan = async (right: Right, resource: string) => this.queries.whoCan(right, resource);
  chain = async (capability: CapabilityId) => this.queries.chain(capability);
}
