/**
 * Wraps the methods of a face so that the promises they return may be left alone. A body begins calls and waits for them
 * later; one that is rejected before that would otherwise end the program of the host as an unhandled rejection.
 */
export function withHandledRejections<Face extends object>(face: Face): Face {
  return new Proxy(face, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member === 'function')
        return (...args: unknown[]) => handleRejection(() => Reflect.apply(member, target, args));
      return innerFaces.has(name) ? withHandledRejections(member as object) : member;
    },
  });
}

/** The members of a face that are faces themselves. */
const innerFaces: ReadonlySet<string | symbol> = new Set(['memory', 'capabilities', 'tools']);

function handleRejection(call: () => unknown): unknown {
  const answer = callOrReject(call);
  if (answer instanceof Promise) answer.catch(ignore);
  return answer;
}

/** Options whose getters throw, for example, reject the call like every other failure. */
function callOrReject(call: () => unknown): unknown {
  try {
    return call();
  } catch (error) {
    return Promise.reject(error);
  }
}

function ignore(): void {
  // The body gets the error when it awaits the call.
}

/** Errors by which runs were ended. A branch of a body that nobody awaits may be rejected with one. */
const runEnds = new WeakSet<object>();
let isGuarded = false;

/** Marks `error` as the end of a run, or of its waits, and gives it back. */
export function markRunEnd<E extends Error>(error: E): E {
  runEnds.add(error);
  return error;
}

/**
 * From now on, a promise of a body that nobody awaits and that is rejected because its run has ended does not end the
 * program of the host, even long after the run. Other unhandled rejections have the effect that they have without this.
 */
export function guardHost(): void {
  if (isGuarded) return;
  isGuarded = true;
  process.on('unhandledRejection', onUnhandled);
}

function onUnhandled(reason: unknown): void {
  if (typeof reason === 'object' && reason !== null && runEnds.has(reason)) return;
  // With a listener of its own the host decides; without one, node would throw it.
  if (process.listenerCount('unhandledRejection') === 1) throw reason;
}
