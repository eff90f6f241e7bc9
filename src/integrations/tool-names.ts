import { createHash } from 'node:crypto';

/** What providers and clients take as the name of a tool. */
const lengthMax = 64;
const hashLength = 8;

/**
 * The names that a model calls tools by, with the names of the tools behind them: `fs_read` for `fs.read`, after `prefix`. The
 * same tools get the same names, in the order given. A name that would be too long, or that two tools would have, ends in a hash
 * of the tool's own; one that is fine as it is stays.
 */
export function toolNames(tools: readonly { readonly name: string }[], prefix = ''): Map<string, string> {
  const spelled = (name: string) => prefix + name.replaceAll(/[^A-Za-z0-9_-]/g, '_');
  const wanted = new Map<string, number>();
  for (const { name } of tools) wanted.set(spelled(name), (wanted.get(spelled(name)) ?? 0) + 1);
  const isPlain = (name: string) => {
    const plain = spelled(name);
    return plain.length <= lengthMax && (plain === prefix + name || wanted.get(plain) === 1);
  };
  const taken = new Set(tools.flatMap(({ name }) => (isPlain(name) ? spelled(name) : [])));
  const alias = (name: string) => (isPlain(name) ? spelled(name) : hashed(spelled(name), name, taken));
  return new Map(tools.map(({ name }) => [alias(name), name]));
}

/** Somebody may have called a tool by the hash of another one: then there is another hash. */
function hashed(spelled: string, name: string, taken: Set<string>): string {
  const start = spelled.slice(0, lengthMax - hashLength - 1);
  for (let text = name; ; text += '#') {
    const alias = `${start}_${createHash('sha256').update(text).digest('hex').slice(0, hashLength)}`;
    if (taken.has(alias)) continue;
    taken.add(alias);
    return alias;
  }
}
