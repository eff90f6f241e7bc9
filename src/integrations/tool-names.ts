import { createHash } from 'node:crypto';
import type { ToolInfo } from '../index.js';

/** The longest tool name that all providers and clients accept. */
const lengthMax = 64;
const hashLength = 8;

/**
 * Maps the aliases that a model uses to the names of the tools: `fs_read` to `fs.read`, after `prefix`. The same tools get the
 * same aliases, in the order given. An alias that would be too long, or that two tools would share, ends in a hash of the tool's
 * name; a name that is valid as it is stays.
 */
export function toolNames(tools: readonly { readonly name: string }[], prefix = ''): Map<string, string> {
  const toAlias = (name: string) => prefix + name.replaceAll(/[^A-Za-z0-9_-]/g, '_');
  const counts = new Map<string, number>();
  for (const { name } of tools) counts.set(toAlias(name), (counts.get(toAlias(name)) ?? 0) + 1);
  const isPlain = (name: string) => {
    const plain = toAlias(name);
    return plain.length <= lengthMax && (plain === prefix + name || counts.get(plain) === 1);
  };
  const used = new Set(tools.flatMap(({ name }) => (isPlain(name) ? toAlias(name) : [])));
  const aliasOf = (name: string) => (isPlain(name) ? toAlias(name) : hashedAlias(toAlias(name), name, used));
  return new Map(tools.map(({ name }) => [aliasOf(name), name]));
}

/** An alias that ends in a hash. Where a tool's own name is already that alias, another hash is used. */
function hashedAlias(alias: string, name: string, used: Set<string>): string {
  const start = alias.slice(0, lengthMax - hashLength - 1);
  for (let text = name; ; text += '#') {
    const hashed = `${start}_${createHash('sha256').update(text).digest('hex').slice(0, hashLength)}`;
    if (used.has(hashed)) continue;
    used.add(hashed);
    return hashed;
  }
}

/** Whether models can be offered the tool: what is done outside the kernel is opened by the program that does it. */
export function isCallable({ external }: ToolInfo): boolean {
  return external !== true;
}
