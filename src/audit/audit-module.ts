import { ContainerModule } from 'inversify';
import { AuditLedger } from './audit-ledger.js';
import { AuditLog } from './audit-log.js';
import { AuditProofs } from './audit-proofs.js';
import { AuditVerifier } from './audit-verifier.js';
import { Checkpoints } from './checkpoints.js';
import { Ledger } from './ledger.js';
import { Refusals } from './refusals.js';

export const auditModule = new ContainerModule(({ bind }) => {
  bind(AuditLedger).toSelf();
  bind(Ledger).toService(AuditLedger);
  bind(Checkpoints).toSelf();
  bind(AuditVerifier).toSelf();
  bind(AuditProofs).toSelf();
  bind(AuditLog).toSelf();
  bind(Refusals).toSelf();
});
