import { inject, injectable } from 'inversify';
import { z } from 'zod';
import { CapabilityError } from '../../base/errors.js';
import { isAbortSignal, parseSpec } from '../../base/spec.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { Act } from '../../unit/act.js';
import type { Call, Caller } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { Units } from '../../unit/units.js';
import { type ApprovalRequest, isSameCall } from '../approval/approval.js';
import { ApprovalNeeded } from '../approval/approval-errors.js';
import { ApprovalLookup } from '../approval/approval-lookup.js';
import { ApprovalRepository } from '../approval/approval-repository.js';
import { hashOfArgs } from '../decision/decide.js';
import type { Authority, Capability, CapabilitySpec } from '../holding/capability.js';
import type { HolderState } from '../holding/capability-repository.js';
import { parseCapabilitySpec, singleCapabilitySpec } from '../holding/capability-spec.js';
import { CapabilityViews } from '../holding/capability-views.js';
import { assertNotExpired } from '../holding/expiry.js';
import { HolderLookup } from '../holding/holders.js';
import { CaseFolding } from '../resource/case-folding.js';
import { covers } from '../resource/resource.js';
import { maskOfRights, type Right } from '../resource/rights.js';
import { isInForce } from '../rule/rule.js';
import { Rules } from '../rule/rules.js';

const requestOptions = z.strictObject({
  signal: z.custom<AbortSignal>(isAbortSignal, 'is not an AbortSignal').optional(),
});

/** Asks a person for authority that the process does not have. */
@injectable()
export class RequestCapability {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(HolderLookup) private readonly holderLookup: HolderLookup,
    @inject(ApprovalRepository) private readonly approvals: ApprovalRepository,
    @inject(Rules) private readonly rules: Rules,
    @inject(CaseFolding) private readonly caseFolding: CaseFolding,
    @inject(CapabilityViews) private readonly capabilityViews: CapabilityViews,
    @inject(ApprovalLookup) private readonly approvalLookup: ApprovalLookup,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /** Resolves with a root grant when it is approved. Throws APPROVAL_DENIED, CAPABILITY_DENIED where a rule forbids it. */
  async run(caller: Extract<Caller, { face: 'process' }>, input: unknown, options: unknown = {}): Promise<Capability> {
    const { pid } = caller;
    const { signal } = parseSpec(requestOptions, options, 'options', isAbortSignal);
    const spec = parseSpec(singleCapabilitySpec, input, 'spec') as CapabilitySpec;
    const authority = parseCapabilitySpec(spec);
    const call: Call = { caller, actor: pid, action: 'capability.request', target: pid, signal };
    return this.units.commit(call, async (tx, act) => {
      const holder = await this.holderLookup.findActive(tx, pid);
      await this.assertNotForbidden(tx, act, pid, holder, authority);
      return this.takeGranted(tx, act, toApprovalRequest(pid, holder, spec, authority));
    });
  }

  /** The capability that an answer to this very request has granted; returned once. Throws ApprovalNeeded. */
  private async takeGranted(tx: WriteTx, act: Act, request: ApprovalRequest): Promise<Capability> {
    const open = await this.approvals.findOpen(tx, [request.holder.n]);
    const answered = open.find((record) => record.granted !== null && isSameCall(record, request));
    if (answered === undefined || answered.granted === null) {
      assertNotExpired(request.spec ?? {}, act.at);
      throw new ApprovalNeeded(request);
    }
    const { id: approval, pid, granted: capability } = answered;
    await this.approvalLookup.use(tx, approval, pid, act.at);
    const action = 'capability.request';
    this.recorder.recordAudit(tx, { ...act, action, outcome: 'ok', target: pid, capability, approval });
    return this.capabilityViews.toView(tx, await this.capabilityViews.findRecord(tx, capability));
  }

  /** Throws CAPABILITY_DENIED where a rule would forbid every use of the capability, so that no person is asked. */
  private async assertNotForbidden(
    tx: ReadTx,
    act: Act,
    pid: string,
    holder: HolderState,
    authority: Authority,
  ): Promise<void> {
    const { pattern, rights } = this.caseFolding.foldPattern(authority);
    const mask = maskOfRights(rights.filter((right) => right !== 'grant'));
    const isForbidden = (await this.rules.findBinding(tx, holder)).some(
      (rule) =>
        rule.effect === 'deny' &&
        (rule.rights & mask) !== 0 &&
        isInForce(rule, act.at) &&
        rule.argsHash === null &&
        covers(this.rules.patternOf(rule), pattern),
    );
    if (!isForbidden) return;
    throw new CapabilityError('CAPABILITY_DENIED', `A rule forbids process ${pid} what it requests.`, {
      facts: { pid, right: rights[0] ?? '', resource: pattern.text, code: 'DENY_RULE' },
      hint: 'A rule of the host forbids it, and only the host can lift that.',
    });
  }
}

function toApprovalRequest(
  pid: string,
  holder: HolderState,
  spec: CapabilitySpec,
  { pattern, rights }: Authority,
): ApprovalRequest {
  return {
    pid,
    holder,
    right: rights[0] as Right,
    resource: pattern.text,
    args: {},
    argsHash: hashOfArgs({ ...spec }),
    capability: null,
    chain: [],
    expiresAt: null,
    rules: [],
    spec,
    expiresInMs: null,
    isEditable: false,
    dependsOn: { processes: [], expiresAt: null },
  };
}
