export {
  type Act,
  type Blockage,
  blocked,
  type Call,
  type Caller,
  hostFace,
  Parked,
  type ProcessCaller,
  type RunHooks,
} from '../unit/act.js';
