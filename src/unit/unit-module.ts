import { ContainerModule } from 'inversify';
import { ChangeRecorder } from './change-recorder.js';
import { Timers } from './timers.js';
import { Units } from './units.js';

export const unitModule = new ContainerModule(({ bind }) => {
  bind(Units).toSelf();
  bind(ChangeRecorder).toSelf();
  bind(Timers).toSelf();
});
