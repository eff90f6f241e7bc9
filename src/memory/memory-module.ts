import { ContainerModule } from 'inversify';
import { ObjectMemory, StoreObjectMemory } from './object-memory.js';
import { Objects } from './objects.js';

export const memoryModule = new ContainerModule(({ bind }) => {
  bind(Objects).toSelf();
  bind(ObjectMemory).to(StoreObjectMemory);
});
