/**
 * The face with promises that may be left alone. A body begins calls and waits for them later; one that is rejected before
 * is for the body to see, and would otherwise end the program of the host.
 */
export function attended<Face extends object>(face: Face): Face {
  return new Proxy(face, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member === 'function') return (...args: unknown[]) => seen(Reflect.apply(member, target, args));
      return name === 'memory' || name === 'capabilities' ? attended(member as object) : member;
    },
  });
}

function seen(answer: unknown): unknown {
  if (answer instanceof Promise) answer.catch(() => undefined);
  return answer;
}
