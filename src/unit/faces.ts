import { hostCaller } from './caller.js';

/*
 * A class of syscalls declares each syscall once, as a method that takes the caller, the process that the call acts for
 * or upon, and the arguments that callers give. The faces are made from it, as types and as objects, so that a public
 * call leads to the declaration. Such a class has no other methods, public or private.
 */

/** A face whose methods name the process: the caller is known. */
export type NamedFace<Syscalls> = {
  readonly [Name in keyof Syscalls]: Syscalls[Name] extends {
    (caller: never, ...args: infer First): infer FirstResult;
    (caller: never, ...args: infer Args): infer Result;
  }
    ? Overloads<First, FirstResult, Args, Result>
    : Syscalls[Name] extends (caller: never, ...args: infer Args) => infer Result
      ? (...args: Args) => Result
      : never;
};

/** A face whose methods act for the caller's own process: the caller and the process are known. */
export type OwnFace<Syscalls> = {
  readonly [Name in keyof Syscalls]: Syscalls[Name] extends {
    (caller: never, pid: never, ...args: infer First): infer FirstResult;
    (caller: never, pid: never, ...args: infer Args): infer Result;
  }
    ? Overloads<First, FirstResult, Args, Result>
    : Syscalls[Name] extends (caller: never, pid: never, ...args: infer Args) => infer Result
      ? (...args: Args) => Result
      : never;
};

/** A method with two signatures, or with one: then the first is inferred to be the same, or nothing is inferred for it. */
type Overloads<First extends unknown[], FirstResult, Args extends unknown[], Result> = unknown[] extends First
  ? (...args: Args) => Result
  : [First, FirstResult, Args, Result] extends [Args, Result, First, FirstResult]
    ? (...args: Args) => Result
    : { (...args: First): FirstResult; (...args: Args): Result };

/** A class, by its instances. */
type ClassOf<Instance> = abstract new (...args: never[]) => Instance;

type Method = (...args: unknown[]) => Promise<unknown>;

/** The syscalls that a call goes to, then the arguments that the face puts before those of the caller. */
type Binding<Syscalls> = readonly [syscalls: Syscalls, ...leading: unknown[]];

/** The host's face of `syscalls`. `parseFirst` checks the first argument of every call, such as the pid. */
export function hostFaceOf<Syscalls extends object>(
  syscalls: Syscalls,
  parseFirst?: (first: unknown) => unknown,
): NamedFace<Syscalls> {
  const face: Partial<Record<keyof Syscalls, Method>> = {};
  for (const name of syscallNames(syscalls.constructor as ClassOf<Syscalls>)) {
    face[name] = async (...args) => {
      const parsed = parseFirst === undefined ? args : [parseFirst(args[0]), ...args.slice(1)];
      return (syscalls[name] as Method)(hostCaller, ...parsed);
    };
  }
  return face as object as NamedFace<Syscalls>;
}

/**
 * Freezes a class whose instances are given to bodies and tools. All instances share its prototype: whoever could change that
 * would see the faces of other processes.
 */
export function sealFaces(faces: ClassOf<object>): void {
  Object.freeze(faces.prototype);
  Object.freeze(faces);
}

/**
 * Adds the syscalls of a class to a class of faces. A method is made when it is asked for: a face that is kept costs
 * little, and its methods can be destructured.
 */
export function addSyscalls<Face extends object, Syscalls extends object>(
  faces: ClassOf<Face>,
  declared: ClassOf<Syscalls>,
  bind: (face: Face) => Binding<Syscalls>,
): void {
  for (const name of syscallNames(declared)) {
    const get = function (this: Face): Method {
      const [syscalls, ...leading] = bind(this);
      // No async function: thousands of calls may wait, and each promise in between takes memory.
      return (...args) => {
        try {
          return (syscalls[name] as Method)(...leading, ...args);
        } catch (error) {
          return Promise.reject(error);
        }
      };
    };
    Object.defineProperty(faces.prototype, name, { get, enumerable: true });
  }
}

/** A frozen face with these methods. They are inherited, so that a proxy of the face can wrap them. */
export function sealedFace<Face extends object>(methods: Face): Face {
  return Object.freeze(Object.create(Object.freeze(methods)) as Face);
}

/** Makes faces that have the syscalls of one class and nothing else. */
export function faceMaker<Syscalls extends object, Leading extends unknown[], Face>(
  declared: ClassOf<Syscalls>,
): (syscalls: Syscalls, ...leading: Leading) => Face {
  class SyscallFace {
    readonly #binding: Binding<Syscalls>;

    constructor(binding: Binding<Syscalls>) {
      this.#binding = binding;
      Object.freeze(this);
    }

    static {
      addSyscalls(SyscallFace, declared, (face) => face.#binding);
      sealFaces(SyscallFace);
    }
  }
  return (...binding) => new SyscallFace(binding) as object as Face;
}

function syscallNames<Syscalls extends object>(declared: ClassOf<Syscalls>): (keyof Syscalls)[] {
  const names = Object.getOwnPropertyNames(declared.prototype).filter((name) => name !== 'constructor');
  return names as (keyof Syscalls)[];
}
