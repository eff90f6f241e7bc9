import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { afterAll } from 'vitest';

const repository = fileURLToPath(new URL('../..', import.meta.url));

/** Plain JavaScript of the kernel and of the programs here, in a folder of its own: it starts much faster than TypeScript. */
export function compilePrograms(): string {
  const out = mkdtempSync(join(tmpdir(), 'procura-programs-'));
  afterAll(() => rmSync(out, { recursive: true, force: true }));
  for (const folder of ['src', 'test/crash/programs']) {
    for (const name of readdirSync(join(repository, folder), { recursive: true, encoding: 'utf8' })) {
      if (name.endsWith('.ts'))
        compile(join(repository, folder, name), join(out, folder, name.replace(/\.ts$/, '.js')));
    }
  }
  for (const name of ['node_modules', 'migrations', 'package.json'])
    symlinkSync(join(repository, name), join(out, name));
  return join(out, 'test/crash/programs');
}

function compile(from: string, to: string): void {
  const { outputText } = ts.transpileModule(readFileSync(from, 'utf8'), {
    compilerOptions: {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.ESNext,
      experimentalDecorators: true,
      verbatimModuleSyntax: true,
    },
  });
  mkdirSync(dirname(to), { recursive: true });
  writeFileSync(to, outputText);
}
