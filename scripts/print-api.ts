/*
 * Writes the API reference, docs/api, from the doc comments of the sources.
 *
 *   tsx scripts/print-api.ts           writes the pages
 *   tsx scripts/print-api.ts --check   fails when a page is not up to date, or when something public is not documented
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Application } from 'typedoc';
import type { PluginOptions } from 'typedoc-plugin-markdown';
import { repairAnchors } from './api/anchors.js';
import { arrangeReference } from './api/arrange.js';

const repository = fileURLToPath(new URL('..', import.meta.url));
const pages = path.join(repository, 'docs', 'api');
const isCheck = process.argv.includes('--check');
const out = isCheck ? mkdtempSync(path.join(tmpdir(), 'api-')) : pages;
try {
  const isComplete = await print(out);
  if (!isComplete) process.exitCode = 1;
  else if (isCheck && !haveSameFiles(out, pages)) {
    process.stderr.write('docs/api is stale. Run: npm run docs:api\n');
    process.exitCode = 1;
  }
} finally {
  if (isCheck) rmSync(out, { recursive: true });
}

/** Writes the reference into a folder. Answers false when TypeDoc has warned, such as of something that is not documented. */
async function print(folder: string): Promise<boolean> {
  const markdown: Partial<PluginOptions> = {
    entryFileName: 'README',
    hideBreadcrumbs: true,
    hidePageHeader: true,
    expandParameters: true,
    expandObjects: true,
    parametersFormat: 'table',
    interfacePropertiesFormat: 'table',
    classPropertiesFormat: 'table',
    typeAliasPropertiesFormat: 'table',
    typeDeclarationFormat: 'table',
    tableColumnSettings: { hideSources: true, hideInherited: true, hideOverrides: true, hideModifiers: true },
  };
  const app = await Application.bootstrapWithPlugins({
    options: path.join(repository, 'typedoc.json'),
    plugin: ['typedoc-plugin-markdown'],
    router: 'module',
    ...markdown,
  });
  arrangeReference(app, repository);
  const project = await app.convert();
  if (project === undefined) return false;
  app.validate(project);
  await app.outputs.writeOutput({ name: 'markdown', path: folder }, project);
  repairAnchors(folder);
  return !app.logger.hasErrors() && !app.logger.hasWarnings();
}

function haveSameFiles(a: string, b: string): boolean {
  const names = filesUnder(a);
  return (
    names.join() === filesUnder(b).join() &&
    names.every((name) => readFileSync(path.join(a, name), 'utf8') === readFileSync(path.join(b, name), 'utf8'))
  );
}

function filesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .sort();
}
