/**
 * A name for a service in the container. A symbol at run time; the constructor in its type is never there and only lets
 * the container infer what it stands for. Interface and token share a name and a file.
 */
export type Token<T> = symbol & (abstract new (...args: never[]) => T);

export function token<T>(name: string): Token<T> {
  return Symbol(`procura.${name}`) as Token<T>;
}
