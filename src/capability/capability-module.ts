import { ContainerModule } from 'inversify';
import { CapabilityManager, HostCapabilityManager } from './capability-manager.js';
import { Drawing } from './drawing.js';
import { Evaluator } from './evaluator.js';
import { Grants } from './grants.js';
import { Holders } from './holders.js';
import { HostRules } from './host-rules.js';
import { Kin } from './kin.js';
import { Listing } from './listing.js';
import { Delegate } from './operations/delegate.js';
import { Explain } from './operations/explain.js';
import { Grant } from './operations/grant.js';
import { Policy } from './operations/policy.js';
import { CapabilityQueries } from './operations/queries.js';
import { Require } from './operations/require.js';
import { Revoke } from './operations/revoke.js';
import { Transfer } from './operations/transfer.js';
import { CapabilityFaces } from './process-capabilities.js';
import { Receivers } from './receivers.js';
import { RecordedUnits } from './recorded-units.js';
import { RevocationSweep } from './revocation-sweep.js';
import { Uses } from './uses.js';

export const capabilityModule = new ContainerModule(({ bind }) => {
  const parts = [
    Drawing,
    Evaluator,
    Grants,
    Holders,
    HostRules,
    Kin,
    Listing,
    Receivers,
    RecordedUnits,
    RevocationSweep,
    Uses,
  ];
  const operations = [CapabilityQueries, Delegate, Explain, Grant, Policy, Require, Revoke, Transfer];
  for (const part of [...parts, ...operations, CapabilityFaces]) bind<object>(part).toSelf();
  bind(CapabilityManager).to(HostCapabilityManager);
});
