import { ContainerModule } from 'inversify';
import { Images } from '../kernel/images.js';
import { ImageRegistry, MemoryImageRegistry } from './image-registry.js';

export const runtimeModule = new ContainerModule(({ bind }) => {
  bind(MemoryImageRegistry).toSelf();
  bind(ImageRegistry).toService(MemoryImageRegistry);
  bind(Images).toService(MemoryImageRegistry);
});
