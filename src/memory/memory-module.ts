import { ContainerModule } from 'inversify';
import { MemoryFaces, ObjectMemory, StoreObjectMemory } from './object-memory.js';
import { Objects } from './objects.js';
import { ReadObject } from './read-object.js';

export const memoryModule = new ContainerModule(({ bind }) => {
  for (const part of [Objects, ReadObject, MemoryFaces]) bind<object>(part).toSelf();
  bind(ObjectMemory).to(StoreObjectMemory);
});
