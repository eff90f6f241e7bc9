import { strict as assert } from 'node:assert';
import { readdirSync, readFileSync } from 'node:fs';
import { cruise, type ICruiseResult } from 'dependency-cruiser';
import { forbidden } from './layers.js';

/** Fails on a wrong import, on a cycle, and on a run that has looked at too little to mean anything. */
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

const problems = summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} -> ${to}`);
for (const name of sources) {
  const text = readFileSync(`src/${name}`, 'utf8');
  const buildsContainer = /^import \{[^}]*\bContainer\b[^}]*\} from 'inversify'/m.test(text);
  if (buildsContainer && name !== 'container.ts') problems.push(`container-only: src/${name} imports Container`);
}
for (const problem of problems) console.error(problem);
console.log(`${cruised.length} modules, ${imports} imports, ${problems.length} problems`);
process.exitCode = problems.length === 0 ? 0 : 1;
