import { createHash } from 'node:crypto';

/** Of the name of a tool; the name of a server may be 64 long. */
const charsMax = 128;

/**
 * The name that a tool of a server has here. What a name cannot have becomes an underscore, and what is too long is cut and
 * told apart by a hash: the same name gives the same one, always. Two that give the same one are told apart by nothing.
 */
export function mcpToolName(server: string, name: string): string {
  const prefix = `mcp/${server}/`;
  const shown = name
    .replaceAll(/[^A-Za-z0-9._/-]/gu, '_')
    .split('/')
    .map((part) => (/^\.{0,2}$/.test(part) ? '_' : part))
    .join('/');
  const left = charsMax - prefix.length;
  if (shown.length <= left) return prefix + shown;
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8);
  return `${prefix}${shown.slice(0, left - hash.length - 1)}-${hash}`;
}
