import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { docPages } from '../../src/base/doc-pages.js';
import { repository } from '../support/built-package.js';
import { anchorsOf, brokenLinks } from '../support/markdown-anchors.js';

const read = (name: string) => readFileSync(path.join(repository, name), 'utf8');
const filesUnder = (folder: string, ending: string) =>
  readdirSync(path.join(repository, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => path.join(folder, name));
const pages = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...filesUnder('docs', '.md')];

describe('pages that the sources name', () => {
  it('exist, and so do their anchors', () => {
    const named = filesUnder('src', '.ts').flatMap((file) =>
      [...read(file).matchAll(/\bdocs\/[\w/-]+\.md(?:#[\w-]+)?/g)].map(([page]) => page),
    );
    expect(named).toEqual(expect.arrayContaining(Object.values(docPages)));
    expect(brokenLinks(named)).toEqual([]);
  });
});

describe('links between pages', () => {
  it.each(pages)('of %s lead to pages and anchors that exist', (page) => {
    const prose = read(page).replace(/^```[\s\S]*?^```/gm, '');
    const links = [...prose.matchAll(/\]\((?!\w+:)([^)\s]*)\)/g)].map(([, target = '']) =>
      target.startsWith('#') ? `${page}${target}` : path.join(path.dirname(page), target),
    );
    expect(brokenLinks(links)).toEqual([]);
  });
});

describe('a link', () => {
  it('is broken without its page or its anchor', () => {
    expect(brokenLinks(['docs/tables.md#states', 'docs/tables.md'])).toEqual([]);
    expect(brokenLinks(['docs/tables.md#no-such-part', 'docs/missing.md'])).toEqual([
      'docs/tables.md#no-such-part',
      'docs/missing.md',
    ]);
  });

  it('finds headings by the anchors that GitHub gives them', () => {
    const text = '# A `b.c()` & d\n\n## Two words\n\n```sh\n# no heading\n```\n\n## Two words\n\n<a id="here"></a>\n';
    expect([...anchorsOf(text)].sort()).toEqual(['a-bc--d', 'here', 'two-words', 'two-words-1']);
  });
});
