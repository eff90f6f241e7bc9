import type { ProcessFace } from '../../index.js';

/** The face of a process, `kernel.as(pid)`, or the `ctx` of a body. */
export type CallingFace = Omit<ProcessFace, 'signal'>;
