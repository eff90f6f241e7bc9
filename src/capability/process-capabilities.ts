import { inject, injectable } from 'inversify';
import type { ProcessCaller } from '../unit/caller.js';
import { addSyscalls, type NamedFace, type OwnFace, sealFaces } from '../unit/faces.js';
import {
  CapabilityTargetSyscalls,
  ProcessCapabilitySyscalls,
  SharedCapabilitySyscalls,
} from './capability-syscalls.js';

/** A process's own authority. It sees what it holds itself, and of a rule only that there is one. */
export interface ProcessCapabilities
  extends OwnFace<SharedCapabilitySyscalls>,
    OwnFace<ProcessCapabilitySyscalls>,
    NamedFace<CapabilityTargetSyscalls> {}

/** Makes the capability part of process faces. */
@injectable()
export class CapabilityFaces {
  constructor(
    @inject(SharedCapabilitySyscalls) readonly shared: SharedCapabilitySyscalls,
    @inject(ProcessCapabilitySyscalls) readonly own: ProcessCapabilitySyscalls,
    @inject(CapabilityTargetSyscalls) readonly target: CapabilityTargetSyscalls,
  ) {}

  of(caller: ProcessCaller): ProcessCapabilities {
    return new CapabilityFace(caller, this) as CapabilityFace & ProcessCapabilities;
  }
}

class CapabilityFace {
  readonly #caller: ProcessCaller;
  readonly #faces: CapabilityFaces;

  constructor(caller: ProcessCaller, faces: CapabilityFaces) {
    this.#caller = caller;
    this.#faces = faces;
    Object.freeze(this);
  }

  static {
    addSyscalls(CapabilityFace, SharedCapabilitySyscalls, (face) => [
      face.#faces.shared,
      face.#caller,
      face.#caller.pid,
    ]);
    addSyscalls(CapabilityFace, ProcessCapabilitySyscalls, (face) => [face.#faces.own, face.#caller, face.#caller.pid]);
    addSyscalls(CapabilityFace, CapabilityTargetSyscalls, (face) => [face.#faces.target, face.#caller]);
    sealFaces(CapabilityFace);
  }
}
