import { ContainerModule } from 'inversify';
import { CapabilityManager, StoreCapabilityManager } from './capability-manager.js';
import { Evaluator } from './evaluator.js';
import { Grants } from './grants.js';

export const capabilityModule = new ContainerModule(({ bind }) => {
  bind(Evaluator).toSelf();
  bind(Grants).toSelf();
  bind(CapabilityManager).to(StoreCapabilityManager);
});
