import { ContainerModule } from 'inversify';
import { AuthorityQuery } from '../audit/authority-trace.js';
import { ApprovalDesk } from './approval-desk.js';
import { ApprovalFootings } from './approval-footings.js';
import { ApprovalParking } from './approval-parking.js';
import { ApprovalQueue, HostApprovalQueue } from './approval-queue.js';
import { ApprovalWatch } from './approval-watch.js';
import { AuthorityCache } from './authority-cache.js';
import { AuthorityTraces } from './authority-traces.js';
import { CapabilityManager, HostCapabilityManager } from './capability-manager.js';
import { Clearance } from './clearance.js';
import { ComparedNames } from './compared-names.js';
import { Drawing } from './drawing.js';
import { Evaluator } from './evaluator.js';
import { Grants } from './grants.js';
import { GraphLoader } from './graph-loader.js';
import { Held } from './held.js';
import { Holders } from './holders.js';
import { HostRules } from './host-rules.js';
import { Kin } from './kin.js';
import { Listing } from './listing.js';
import { Answer } from './operations/answer.js';
import { Delegate } from './operations/delegate.js';
import { Explain } from './operations/explain.js';
import { Grant } from './operations/grant.js';
import { Policy } from './operations/policy.js';
import { CapabilityQueries } from './operations/queries.js';
import { RequestCapability } from './operations/request.js';
import { Require } from './operations/require.js';
import { Revoke } from './operations/revoke.js';
import { Transfer } from './operations/transfer.js';
import { CapabilityFaces } from './process-capabilities.js';
import { Questions } from './questions.js';
import { Receivers } from './receivers.js';
import { RecordedUnits } from './recorded-units.js';
import { RevocationSweep } from './revocation-sweep.js';
import { Revocations } from './revocations.js';
import { RuleBook } from './rule-book.js';
import { RuleWriter } from './rule-writer.js';
import { Uses } from './uses.js';
import { Warrants } from './warrants.js';

export const capabilityModule = new ContainerModule(({ bind }) => {
  const parts = [
    ApprovalDesk,
    ApprovalFootings,
    ApprovalParking,
    ApprovalWatch,
    AuthorityCache,
    Clearance,
    ComparedNames,
    Drawing,
    Evaluator,
    Grants,
    GraphLoader,
    Held,
    Holders,
    HostRules,
    Kin,
    Listing,
    Questions,
    Receivers,
    RecordedUnits,
    RevocationSweep,
    Revocations,
    RuleBook,
    RuleWriter,
    Uses,
    Warrants,
  ];
  const operations = [
    Answer,
    CapabilityQueries,
    Delegate,
    Explain,
    Grant,
    Policy,
    RequestCapability,
    Require,
    Revoke,
    Transfer,
  ];
  for (const part of [...parts, ...operations, CapabilityFaces]) bind<object>(part).toSelf();
  bind(CapabilityManager).to(HostCapabilityManager);
  bind(ApprovalQueue).to(HostApprovalQueue);
  bind(AuthorityQuery).to(AuthorityTraces);
});
