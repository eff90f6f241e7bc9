export { type Act, type Call, type Caller, hostFace } from '../capability/act.js';
