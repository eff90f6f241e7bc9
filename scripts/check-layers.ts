import { strict as assert } from 'node:assert';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { cruise, type ICruiseResult } from 'dependency-cruiser';
import ts from 'typescript';
import { forbidden, layers } from './layers.js';

/**
 * Fails on a wrong import, on a cycle, on a folder of over 25 files, on an exported name that two files of the layers
 * declare, and on a run that has looked at too little to mean anything.
 */
const filesMax = 25;

const sources = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
const { output } = await cruise(['src'], {
  validate: true,
  ruleSet: { forbidden },
  tsPreCompilationDeps: true,
  tsConfig: { fileName: 'tsconfig.json' },
  doNotFollow: { path: 'node_modules' },
});
const { modules, summary } = output as ICruiseResult;
const cruised = modules.filter(({ source }) => source.startsWith('src/'));
assert.equal(cruised.length, sources.length, 'the layer check did not look at every source file');
const imports = summary.totalDependenciesCruised ?? 0;
assert(imports > sources.length, 'the layer check saw no imports');

const problems = [
  ...summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} -> ${to}`),
  ...sources.filter(buildsContainer).map((name) => `container-only: src/${name} imports Container`),
  ...crowdedFolders(),
  ...repeatedNames(),
];
for (const problem of problems) console.error(problem);
console.log(`${cruised.length} modules, ${imports} imports, ${problems.length} problems`);
process.exitCode = problems.length === 0 ? 0 : 1;

function buildsContainer(name: string): boolean {
  const imported = /^import \{[^}]*\bContainer\b[^}]*\} from 'inversify'/m.test(readFileSync(`src/${name}`, 'utf8'));
  return imported && name !== 'container.ts';
}

function crowdedFolders(): string[] {
  const counts = new Map<string, number>();
  for (const name of sources) counts.set(dirname(name), (counts.get(dirname(name)) ?? 0) + 1);
  return [...counts]
    .filter(([, count]) => count > filesMax)
    .map(([folder, count]) => `files: src/${folder} has ${count}`);
}

/** A reader who searches for a name should find one thing. An interface and its token in one file are one. */
function repeatedNames(): string[] {
  const declared = new Map<string, Set<string>>();
  for (const file of sources.filter((name) => layers.includes(name.split('/')[0] ?? ''))) {
    for (const name of exportedNames(file)) declared.set(name, (declared.get(name) ?? new Set()).add(file));
  }
  const repeated = [...declared].filter(([, files]) => files.size > 1);
  return repeated.map(([name, files]) => `names: ${name} is declared in ${[...files].join(' and ')}`);
}

function exportedNames(file: string): string[] {
  const { statements } = ts.createSourceFile(file, readFileSync(`src/${file}`, 'utf8'), ts.ScriptTarget.Latest);
  return statements.filter(isExported).flatMap((statement) => {
    if (ts.isVariableStatement(statement))
      return statement.declarationList.declarations.map(({ name }) => textOf(name));
    return 'name' in statement && statement.name !== undefined ? [textOf(statement.name as ts.Node)] : [];
  });
}

function isExported(statement: ts.Statement): boolean {
  return ts.canHaveModifiers(statement) && hasExport(ts.getModifiers(statement));
}

function hasExport(modifiers: readonly ts.Modifier[] = []): boolean {
  return modifiers.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
}

function textOf(name: ts.Node): string {
  return ts.isIdentifier(name) ? name.text : '';
}
