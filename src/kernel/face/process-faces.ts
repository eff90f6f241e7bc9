import { inject, injectable } from 'inversify';
import { invalidInput, ProcessError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import { CapabilityFaces, type ProcessCapabilities } from '../../capability/process-capabilities.js';
import { MemorySyscalls, type ProcessMemory, processMemory } from '../../memory/object-memory.js';
import type { ProcessCaller, RunHooks } from '../../unit/caller.js';
import { addSyscalls, sealFaces } from '../../unit/faces.js';
import { parsePid } from '../specs.js';
import { openToolCall } from './open-tool-call.js';
import type { ProcessFace } from './process-face.js';
import { ProcessSyscalls, SharedSyscalls, TargetSyscalls } from './process-syscalls.js';
import { type ProcessTools, sealedTools, tellEdit } from './process-tools.js';
import { ToolGate } from './tool-gate.js';

/** Makes process faces. */
@injectable()
export class ProcessFaces {
  constructor(
    @inject(SharedSyscalls) readonly shared: SharedSyscalls,
    @inject(TargetSyscalls) readonly target: TargetSyscalls,
    @inject(ProcessSyscalls) readonly own: ProcessSyscalls,
    @inject(MemorySyscalls) readonly memory: MemorySyscalls,
    @inject(CapabilityFaces) readonly capabilities: CapabilityFaces,
    @inject(ToolGate) readonly tools: ToolGate,
  ) {}

  /** The face of `pid`. Without the hooks of a run it has no journal and no fence: its calls are refused by state only. */
  of(input: Pid, run?: RunHooks): ProcessFace {
    const pid = parsePid(input);
    const caller = { face: 'process', pid, ...(run === undefined ? {} : { run }) } as const;
    return new CallerFace(caller, this) as CallerFace & ProcessFace;
  }
}

/**
 * The same face, whose calls wait no longer than `pausedMs` for the end of a pause: WAIT_TIMEOUT then, with `paused` among
 * its facts. A face that is not one of `kernel.as` is given back as it is.
 */
export function limitPauses(face: ProcessFace, pausedMs: number): ProcessFace {
  return CallerFace.limitPauses(face, pausedMs);
}

/** The same face, whose calls name `cause` as the record that they follow from. One of another kind is given back as it is. */
export function nameCause(face: ProcessFace, cause: string): ProcessFace {
  return CallerFace.nameCause(face, cause);
}

/**
 * The face of a child, by the face of its parent: for a program that acts for a whole tree and was given one of its faces. Throws
 * NOT_A_CHILD, PROCESS_TERMINATED for a child that has ended, INVALID_INPUT for a face that is not one of `kernel.as`.
 *
 * @example
 * const child = await face.spawnChild({ name: 'reviewer' });
 * await (await childFace(face, child)).exit({ result: 'reviewed' });
 */
export async function childFace(face: ProcessFace, child: Pid): Promise<ProcessFace> {
  const made = CallerFace.withPid(face, parsePid(child));
  if (made === undefined) throw invalidInput('face', 'is not one of kernel.as', 'Give kernel.as(pid) of the parent.');
  if ((await made.parent()) === face.pid) return made;
  throw new ProcessError('NOT_A_CHILD', `Process ${child} is no child of ${face.pid}.`, {
    facts: { pid: face.pid, child },
    hint: 'Give the face of the process that has spawned it.',
  });
}

class CallerFace {
  readonly #caller: ProcessCaller;
  readonly #faces: ProcessFaces;

  constructor(caller: ProcessCaller, faces: ProcessFaces) {
    this.#caller = caller;
    this.#faces = faces;
    Object.freeze(this);
  }

  static limitPauses(face: ProcessFace, pausedMs: number): ProcessFace {
    const own: object = face;
    if (!(#caller in own)) return face;
    return new CallerFace({ ...own.#caller, pausedMs }, own.#faces) as CallerFace & ProcessFace;
  }

  static nameCause(face: ProcessFace, cause: string): ProcessFace {
    const own: object = face;
    if (!(#caller in own)) return face;
    return new CallerFace({ ...own.#caller, cause }, own.#faces) as CallerFace & ProcessFace;
  }

  static withPid(face: ProcessFace, pid: Pid): ProcessFace | undefined {
    const own: object = face;
    return #caller in own ? own.#faces.of(pid) : undefined;
  }

  get pid(): Pid {
    return this.#caller.pid;
  }

  get memory(): ProcessMemory {
    return processMemory(this.#faces.memory, this.#caller, this.pid);
  }

  get capabilities(): ProcessCapabilities {
    return this.#faces.capabilities.of(this.#caller);
  }

  get tools(): ProcessTools {
    const caller = this.#caller;
    const gate = this.#faces.tools;
    const face = this as object as ProcessFace;
    return sealedTools({
      list: async () => gate.list(caller),
      call: async (tool, args = {}, given = {}) =>
        tellEdit(given, (options, onEdited) => gate.call({ caller, face, tool, args, options, onEdited })),
      open: (tool, args = {}, options = {}) =>
        openToolCall(async (external) => gate.call({ caller, face, tool, args, options, external })),
    });
  }

  static {
    addSyscalls(CallerFace, SharedSyscalls, (face) => [face.#faces.shared, face.#caller, face.pid]);
    addSyscalls(CallerFace, ProcessSyscalls, (face) => [face.#faces.own, face.#caller, face.pid]);
    addSyscalls(CallerFace, TargetSyscalls, (face) => [face.#faces.target, face.#caller]);
    sealFaces(CallerFace);
  }
}
