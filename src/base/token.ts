/**
 * The name of a service in the container: a symbol. The constructor exists only in the type, from which the container
 * infers the type of the service. Interface and token share a name and a file.
 */
export type Token<T> = symbol & (abstract new (...args: never[]) => T);

export function token<T>(name: string): Token<T> {
  return Symbol(`procura.${name}`) as Token<T>;
}
