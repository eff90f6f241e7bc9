/** The text of a statement as PostgreSQL takes it. */
export interface StatementText {
  readonly text: string;
  /** The names of its values in the order of their numbers; undefined where they are given by position. */
  readonly names: readonly string[] | undefined;
}

/** Quoted text, which is left alone, and the two forms of placeholders. */
const token = /'(?:[^']|'')*'|"[^"]*"|\?|@(\w+)/g;

/** Replaces `?` and `@name` by `$1`, `$2` and so on; a name that stands twice has one number. */
export function numberPlaceholders(text: string): StatementText {
  const names: string[] = [];
  let positions = 0;
  const numbered = text.replaceAll(token, (match: string, name: string | undefined) => {
    if (match === '?') return `$${++positions}`;
    if (name === undefined) return match;
    const known = names.indexOf(name);
    return `$${known < 0 ? names.push(name) : known + 1}`;
  });
  return { text: numbered, names: names.length === 0 ? undefined : names };
}
