import { ContainerModule } from 'inversify';
import { Images } from '../kernel/images.js';
import { OsProcesses, SystemOsProcesses } from './host-identity.js';
import { ImageRegistry, MemoryImageRegistry } from './image-registry.js';
import { NodeLease } from './node-lease.js';
import { Recovery } from './recovery.js';
import { Releases } from './releases.js';

export const runtimeModule = new ContainerModule(({ bind }) => {
  bind(MemoryImageRegistry).toSelf();
  bind(ImageRegistry).toService(MemoryImageRegistry);
  bind(Images).toService(MemoryImageRegistry);
  bind(OsProcesses).to(SystemOsProcesses);
  for (const part of [NodeLease, Recovery, Releases]) bind<object>(part).toSelf();
});
