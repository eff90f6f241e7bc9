import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/**
 * Leads links to the first heading of a name where a page has fewer headings of that name than TypeDoc counts: it also
 * counts those that `arrangeReference` removes.
 */
export function repairAnchors(folder: string): void {
  const pages = new Map(
    readdirSync(folder)
      .filter((name) => name.endsWith('.md'))
      .map((name) => [name, readFileSync(path.join(folder, name), 'utf8')]),
  );
  const headings = new Map([...pages].map(([name, text]) => [name, countHeadings(text)]));
  for (const [name, text] of pages)
    writeFileSync(
      path.join(folder, name),
      text.replace(/\]\(([\w-]+\.md)?#(\w+)-(\d+)\)/g, (link, page = '', heading: string, count: string) =>
        Number(count) < (headings.get(page || name)?.get(heading) ?? 0) ? link : `](${page}#${heading})`,
      ),
    );
}

function countHeadings(markdown: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const [, name = ''] of markdown.matchAll(/^#+ ~*(\w+)/gm))
    counts.set(name.toLowerCase(), (counts.get(name.toLowerCase()) ?? 0) + 1);
  return counts;
}
