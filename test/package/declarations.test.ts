import { readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { beforeAll, describe, expect, it } from 'vitest';
import { builtPackage } from '../support/built-package.js';

let folder: string;
beforeAll(async () => {
  folder = await builtPackage();
}, 150_000);

/** The declarations of the entry points, by the name that users import. */
function entries(): Record<string, string> {
  const { exports } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as {
    exports: Record<string, { types?: string }>;
  };
  return Object.fromEntries(
    Object.entries(exports).flatMap(([name, { types }]) =>
      types === undefined ? [] : [[name, path.join(folder, types)]],
    ),
  );
}

/** The packages, and modules of Node, that a declaration file and those that it leads to import or refer to. */
function importsOf(entry: string): Set<string> {
  const found = new Set<string>();
  const seen = new Set([entry]);
  for (const file of seen) {
    const { importedFiles, typeReferenceDirectives } = ts.preProcessFile(readFileSync(file, 'utf8'));
    for (const { fileName } of typeReferenceDirectives) found.add(fileName);
    for (const { fileName } of importedFiles) {
      if (fileName.startsWith('.')) seen.add(path.resolve(path.dirname(file), fileName.replace(/\.js$/, '.d.ts')));
      else found.add(fileName);
    }
  }
  expect(seen.size).toBeGreaterThan(50);
  return found;
}

function problemsOf(file: string, options: ts.CompilerOptions): string[] {
  const program = ts.createProgram([file], {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    strict: true,
    skipLibCheck: false,
    noEmit: true,
    ...options,
  });
  return ts.getPreEmitDiagnostics(program).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}

describe('the declarations of the package', () => {
  it('import nothing that is used inside: an entry point has at most its optional peer', () => {
    const imports = Object.fromEntries(Object.entries(entries()).map(([name, file]) => [name, [...importsOf(file)]]));
    const {
      '.': main,
      './ai-sdk': aiSdk,
      './langchain': langChain,
      './mcp-server': mcpServer,
      './openai-agents': openaiAgents,
      ...others
    } = imports;
    expect(main).toEqual([]);
    expect(aiSdk).toEqual(['ai']);
    expect(langChain?.map((name) => name.replace(/^(@langchain\/core)\/.*/, '$1'))).toEqual(
      expect.arrayContaining(['langchain', '@langchain/core']),
    );
    expect(langChain?.filter((name) => !/^(langchain$|@langchain\/core\/)/.test(name))).toEqual([]);
    expect(mcpServer).toEqual(['@modelcontextprotocol/server']);
    expect(openaiAgents).toEqual(['@openai/agents-core']);
    expect(Object.values(others).flat()).toEqual([]);
  });

  it('bring the library that `await using` needs', () => {
    const text = readFileSync(path.join(folder, 'dist', 'index.d.ts'), 'utf8');
    expect(ts.preProcessFile(text).libReferenceDirectives.map(({ fileName }) => fileName)).toEqual([
      'esnext.disposable',
    ]);
  });

  it.each([
    ['the types of neither Node nor the DOM', { lib: ['lib.es2023.d.ts'], types: [] }],
    ['the types of the DOM', { lib: ['lib.es2023.d.ts', 'lib.dom.d.ts'], types: [] }],
    ['the types of Node', { lib: ['lib.es2023.d.ts'], types: ['node'] }],
  ])('have no error of their own in a program with %s', (_, options) => {
    expect(problemsOf(path.join(folder, 'dist', 'index.d.ts'), options)).toEqual([]);
  });

  it('are checked: what a library lacks that they use is found', () => {
    const file = path.join(folder, 'dist', 'index.d.ts');
    expect(problemsOf(file, { lib: ['lib.es5.d.ts'], types: [] })).not.toEqual([]);
  });
});
