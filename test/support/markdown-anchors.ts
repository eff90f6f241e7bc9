import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { repository } from './built-package.js';

/** The anchors of a Markdown text: those of its headings, computed as GitHub does, and those of its HTML anchors. */
export function anchorsOf(markdown: string): Set<string> {
  const prose = markdown.replace(/^(```|~~~)[\s\S]*?^\1/gm, '');
  const anchors = new Set([...prose.matchAll(/<a (?:id|name)="([^"]+)"/g)].map(([, id = '']) => id));
  const seen = new Map<string, number>();
  for (const [, heading = ''] of prose.matchAll(/^#{1,6} (.+)$/gm)) {
    const slug = slugOf(heading);
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    anchors.add(count === 0 ? slug : `${slug}-${count}`);
  }
  return anchors;
}

/** Of links to pages of the repository such as `docs/guide.md#events`, those whose page or anchor does not exist. */
export function brokenLinks(links: readonly string[]): string[] {
  return links.filter((link) => {
    const [page = '', anchor] = link.split('#');
    const file = path.join(repository, page);
    if (!existsSync(file)) return true;
    return anchor !== undefined && page.endsWith('.md') && !anchorsOf(readFileSync(file, 'utf8')).has(anchor);
  });
}

function slugOf(heading: string): string {
  return heading
    .trim()
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll('\\', '')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M} _-]/gu, '')
    .replaceAll(' ', '-');
}
