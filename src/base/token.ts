/** A name for a service in the container, typed by what it stands for. Interface and token share a name and a file. */
export type Token<T> = symbol & { readonly service?: T };

export function token<T>(name: string): Token<T> {
  return Symbol(`procura.${name}`) as Token<T>;
}
