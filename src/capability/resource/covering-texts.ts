import { hostSuffixesOf } from './pattern-index.js';
import type { Pattern, Request } from './resource.js';
import { namesProcess } from './resource-matching.js';

/** The first segments are tried without probing whether any stored pattern begins so: two choices each, so four texts. */
const unprobedSegments = 2;

/** Whether any stored pattern begins with `prefix`. */
export type HasPrefix = (prefix: string) => Promise<boolean>;

/**
 * The texts of all patterns that could include `resource`, a request or another pattern. There is one for every choice
 * of a name or a wildcard at each segment, so beyond the first segments only prefixes that are stored are followed.
 */
export async function coveringTexts(resource: Pattern | Request, hasPrefix: HasPrefix): Promise<string[]> {
  const { kind, segments } = resource;
  const endsInRest = resource.form === 'pattern' && resource.rest;
  if (kind === 'net') return netTexts(segments);
  const texts: string[] = [];
  let prefixes = [`${kind}:`];
  for (const [index, segment] of segments.entries()) {
    const isLast = index === segments.length - 1;
    const choices = segment === '*' || isSpelledOut(resource, index) ? [segment] : [segment, '*'];
    const next: string[] = [];
    for (const prefix of prefixes) {
      texts.push(`${prefix}**`);
      for (const choice of choices) {
        if (isLast && !endsInRest) texts.push(prefix + choice);
        next.push(`${prefix}${choice}/`);
      }
    }
    prefixes = index < unprobedSegments ? next : await keepExisting(next, hasPrefix);
  }
  texts.push(...prefixes.map((prefix) => `${prefix}**`));
  if (segments.length === 0 && !endsInRest) texts.push(`${kind}:.`);
  return texts;
}

/** A process's own namespace is included only by patterns that spell it. */
function isSpelledOut(resource: Pattern | Request, index: number): boolean {
  return index < 2 && namesProcess(resource);
}

async function keepExisting(prefixes: readonly string[], hasPrefix: HasPrefix): Promise<string[]> {
  const existing: string[] = [];
  for (const prefix of prefixes) if (await hasPrefix(prefix)) existing.push(prefix);
  return existing;
}

function netTexts([host = '', port = '']: readonly string[]): string[] {
  const hosts = new Set([host, '*', ...hostSuffixesOf(host).map((suffix) => `*.${suffix}`)]);
  const ports = new Set([port, '*']);
  return ['net:**', ...[...hosts].flatMap((hostText) => [...ports].map((portText) => `net:${hostText}/${portText}`))];
}
