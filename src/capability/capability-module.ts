import { ContainerModule } from 'inversify';
import { AuthorityQuery } from '../audit/query/authority-trace.js';
import { hostFaceOf } from '../unit/faces.js';
import { InterruptionHandler } from '../unit/interruption.js';
import { RefusalObserver } from '../unit/refusal-observer.js';
import { ApprovalGate } from './approval/approval-gate.js';
import { ApprovalLookup } from './approval/approval-lookup.js';
import { ApprovalQueue, HostApprovalQueue } from './approval/approval-queue.js';
import { ApprovalValidity } from './approval/approval-validity.js';
import { ApprovalWait } from './approval/approval-wait.js';
import { ApprovalWatch } from './approval/approval-watch.js';
import { EditedAnswers } from './approval/edited-answers.js';
import { CapabilityManager } from './capability-manager.js';
import {
  CapabilityTargetSyscalls,
  HostCapabilitySyscalls,
  ProcessCapabilitySyscalls,
  SharedCapabilitySyscalls,
} from './capability-syscalls.js';
import { AuthorityCache } from './decision/authority-cache.js';
import { GraphLoader } from './decision/authority-graph.js';
import { AuthorityTraces } from './decision/authority-traces.js';
import { Authorizer } from './decision/authorizer.js';
import { DenialEvents } from './decision/denial-events.js';
import { Evaluator } from './decision/evaluator.js';
import { QuestionParser } from './decision/question.js';
import { CapabilityViews } from './holding/capability-views.js';
import { Derivation } from './holding/derivation.js';
import { Grants } from './holding/grants.js';
import { HolderLookup } from './holding/holders.js';
import { Holdings } from './holding/holdings.js';
import { Receivers } from './holding/receivers.js';
import { RevocationSweep } from './holding/revocation-sweep.js';
import { Revocations } from './holding/revocations.js';
import { CapabilityFaces } from './process-capabilities.js';
import { CaseFolding } from './resource/case-folding.js';
import { RuleGate } from './rule/rule-gate.js';
import { RuleWriter } from './rule/rule-writer.js';
import { Rules } from './rule/rules.js';
import { Answer } from './syscalls/answer.js';
import { Check } from './syscalls/check.js';
import { Delegate } from './syscalls/delegate.js';
import { Grant } from './syscalls/grant.js';
import { Policy } from './syscalls/policy.js';
import { CapabilityQueries } from './syscalls/queries.js';
import { RequestCapability } from './syscalls/request.js';
import { Require } from './syscalls/require.js';
import { Revoke } from './syscalls/revoke.js';
import { Transfer } from './syscalls/transfer.js';

export const capabilityModule = new ContainerModule(({ bind }) => {
  const parts = [
    ApprovalGate,
    ApprovalValidity,
    ApprovalWait,
    ApprovalWatch,
    AuthorityCache,
    ApprovalLookup,
    EditedAnswers,
    CaseFolding,
    Derivation,
    Evaluator,
    Grants,
    GraphLoader,
    Holdings,
    HolderLookup,
    RuleGate,
    CapabilityViews,
    QuestionParser,
    Receivers,
    RevocationSweep,
    Revocations,
    Rules,
    RuleWriter,
    Authorizer,
  ];
  const surface = [
    CapabilityFaces,
    CapabilityTargetSyscalls,
    HostCapabilitySyscalls,
    ProcessCapabilitySyscalls,
    SharedCapabilitySyscalls,
  ];
  const operations = [
    Answer,
    CapabilityQueries,
    Delegate,
    Check,
    Grant,
    Policy,
    RequestCapability,
    Require,
    Revoke,
    Transfer,
  ];
  for (const part of [...parts, ...operations, ...surface]) bind<object>(part).toSelf();
  bind(CapabilityManager).toDynamicValue(({ get }) => ({
    ...hostFaceOf(get(SharedCapabilitySyscalls)),
    ...hostFaceOf(get(CapabilityTargetSyscalls)),
    ...hostFaceOf(get(HostCapabilitySyscalls)),
  }));
  bind(ApprovalQueue).to(HostApprovalQueue);
  bind(AuthorityQuery).to(AuthorityTraces);
  bind(InterruptionHandler).toService(ApprovalGate);
  bind(RefusalObserver).to(DenialEvents);
});
