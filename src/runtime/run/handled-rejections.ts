/**
 * The face with promises that may be left alone. A body begins calls and waits for them later; one that is rejected before
 * is for the body to see, and would otherwise end the program of the host.
 */
export function withHandledRejections<Face extends object>(face: Face): Face {
  return new Proxy(face, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member === 'function') return (...args: unknown[]) => seen(() => Reflect.apply(member, target, args));
      return faces.has(name) ? withHandledRejections(member as object) : member;
    },
  });
}

/** The parts of a face that are faces themselves. */
const faces: ReadonlySet<string | symbol> = new Set(['memory', 'capabilities', 'tools']);

function seen(call: () => unknown): unknown {
  const answer = begun(call);
  if (answer instanceof Promise) answer.catch(ignored);
  return answer;
}

/** What cannot even be begun, such as with options that refuse to be read, is rejected like all that fails. */
function begun(call: () => unknown): unknown {
  try {
    return call();
  } catch (error) {
    return Promise.reject(error);
  }
}

function ignored(): void {
  // The body sees it when it waits for the call.
}
