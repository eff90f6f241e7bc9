import type { CallingFace } from './calling-face.js';

/** Gives the tools of a process, whose calls go through the kernel. Disposing of it removes the tools from the kernel. */
export interface GovernedTools<Tool> extends Disposable {
  (face: CallingFace): Tool[];
}
