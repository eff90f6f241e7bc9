import { ContainerModule } from 'inversify';
import { AuditLog } from './audit-log.js';
import { Checkpoints } from './checkpoint/checkpoints.js';
import { AuditProofs } from './merkle/audit-proofs.js';
import { AuditVerifier } from './verify/audit-verifier.js';
import { AuditWriter } from './writing/audit-writer.js';
import { Inspections } from './writing/inspections.js';
import { Refusals } from './writing/refusals.js';

export const auditModule = new ContainerModule(({ bind }) => {
  bind(AuditWriter).toSelf();
  bind(Checkpoints).toSelf();
  bind(AuditVerifier).toSelf();
  bind(AuditProofs).toSelf();
  bind(AuditLog).toSelf();
  bind(Refusals).toSelf();
  bind(Inspections).toSelf();
});
