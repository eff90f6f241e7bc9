import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { repository } from '../support/built-package.js';

const folder = path.join(repository, 'docs', 'api');
const page = (name: string) => readFileSync(path.join(folder, name), 'utf8');
const pages = readdirSync(folder).filter((name) => name.endsWith('.md'));

describe('the API reference', () => {
  it.each(entryPoints())('has a section for every export of %s', (entryPoint) => {
    const headings = new Set(
      pages.flatMap((name) => [...page(name).matchAll(/^### ~*(\w+)/gm)].map(([, heading]) => heading)),
    );
    const exported = exportsOf(entryPoint);
    expect(exported.length).toBeGreaterThan(0);
    expect(exported.filter((name) => !headings.has(name))).toEqual([]);
  });

  it('shows the methods of faces with their parameters, results and comments', () => {
    const manager = section(page('processes.md'), 'ProcessManager');
    expect(manager).toMatch(/^##### spawn\(\)\n\n> \*\*spawn\*\*.*\(`spec\??`: .*\): `Promise`\\<.*\n\n\w.+/m);
    expect(manager).toMatch(/^##### spawnChild\(\)\n\n> \*\*spawnChild\*\*.*\(`parent`: .*`spec\??`: /m);
    const ctx = section(page('bodies.md'), 'Syscalls');
    expect(ctx).toMatch(/^##### spawnChild\(\)\n\n> \*\*spawnChild\*\*.*\(`spec\??`: /m);
    expect(ctx).toMatch(/^##### step\(\)\n\n> \*\*step\*\*\\<`T`\\>\(`name`: `string`, `work`: /m);
    const memory = section(page('memory.md'), 'ProcessMemory');
    expect(memory).toMatch(/^##### create\(\)\n\n> \*\*create\*\*\(`spec`: /m);
  });

  it('names no caller, whom the faces supply', () => {
    for (const name of pages) expect(page(name), name).not.toMatch(/\(`_?caller`/);
  });

  it('has few pages, with nothing of the machine that wrote them', () => {
    expect(pages.length).toBeLessThan(40);
    for (const name of pages) expect(page(name), name).not.toContain(repository);
  });
});

function entryPoints(): string[] {
  const { entryPoints } = JSON.parse(readFileSync(path.join(repository, 'typedoc.json'), 'utf8')) as {
    entryPoints: string[];
  };
  return entryPoints;
}

/** The names in the export declarations of a file. */
function exportsOf(file: string): string[] {
  const text = readFileSync(path.join(repository, file), 'utf8');
  return ts
    .createSourceFile(file, text, ts.ScriptTarget.Latest)
    .statements.filter(ts.isExportDeclaration)
    .flatMap(({ exportClause }) =>
      exportClause !== undefined && ts.isNamedExports(exportClause)
        ? exportClause.elements.map((element) => element.name.text)
        : [],
    );
}

/** The section of an export: up to the next heading of its level. */
function section(markdown: string, name: string): string {
  return new RegExp(`^### ${name}\\n[\\s\\S]*?(?=^##?#? )`, 'm').exec(`${markdown}\n## `)?.[0] ?? '';
}
