/*
 * Removes from the declarations in dist/ everything that the entry points do not lead to: other declarations, imports that are
 * not used any more, and files that have nothing left. Users then meet no type of what is used inside, such as inversify.
 *
 *   node scripts/prune-declarations.mjs [OUTDIR]
 *
 * The entry points are the `types` in the `exports` of package.json.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const root = fileURLToPath(new URL('..', import.meta.url));

/** @param {string} outdir the folder that the compiler has written to */
export function pruneDeclarations(outdir) {
  const { exports } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  const entries = Object.values(exports).flatMap(({ types }) =>
    types === undefined ? [] : [path.join(outdir, path.posix.relative('dist', types))],
  );
  const program = ts.createProgram(entries, {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'],
    types: ['node'],
    noEmit: true,
  });
  const needed = new Reachable(program.getTypeChecker(), outdir);
  for (const entry of entries) needed.addEntry(sourceFileOf(program, entry));
  for (const file of declarationFiles(outdir)) {
    const text = needed.textOf(program.getSourceFile(file));
    if (text === undefined) rmSync(file);
    else writeFileSync(file, text);
  }
}

/** The top-level statements, and the members of imports and exports, that entry points lead to. */
class Reachable {
  /** @type {Set<ts.Node>} */
  #nodes = new Set();
  /** @type {Set<ts.Symbol>} */
  #symbols = new Set();
  /** The classes that users can construct: entry points export them as values. @type {Set<ts.Node>} */
  #constructible = new Set();
  #checker;
  #outdir;

  /** @param {ts.TypeChecker} checker @param {string} outdir */
  constructor(checker, outdir) {
    this.#checker = checker;
    this.#outdir = outdir;
  }

  /** @param {ts.SourceFile} file */
  addEntry(file) {
    const module = this.#checker.getSymbolAtLocation(file);
    if (module === undefined) throw new Error(`${file.fileName} exports nothing`);
    const symbols = this.#checker.getExportsOfModule(module);
    for (const symbol of symbols.filter((symbol) => !symbol.declarations?.some(isTypeExport))) {
      const target = (symbol.flags & ts.SymbolFlags.Alias) !== 0 ? this.#checker.getAliasedSymbol(symbol) : symbol;
      for (const declaration of target.declarations ?? []) this.#constructible.add(declaration);
    }
    for (const symbol of symbols) this.#addSymbol(symbol);
  }

  /** Whether a node is the constructor of a class that only the package itself constructs. @param {ts.Node} node */
  #isInternalConstructor(node) {
    return ts.isConstructorDeclaration(node) && !this.#constructible.has(node.parent);
  }

  /** @param {ts.Symbol | undefined} symbol */
  #addSymbol(symbol) {
    if (symbol === undefined || this.#symbols.has(symbol)) return;
    this.#symbols.add(symbol);
    for (const declaration of symbol.declarations ?? []) this.#addDeclaration(declaration);
    if ((symbol.flags & ts.SymbolFlags.Alias) !== 0) this.#addSymbol(this.#checker.getImmediateAliasedSymbol(symbol));
  }

  /** @param {ts.Declaration} declaration */
  #addDeclaration(declaration) {
    if (!declaration.getSourceFile().fileName.startsWith(this.#outdir)) return;
    /** @type {ts.Node} */
    let node = declaration;
    while (!isPart(node) && node.parent !== undefined && !ts.isSourceFile(node.parent)) node = node.parent;
    if (ts.isSourceFile(node) || this.#nodes.has(node)) return;
    this.#nodes.add(node);
    if (!isPart(node)) this.#addNamesIn(node);
  }

  /** @param {ts.Node} node */
  #addNamesIn(node) {
    if (this.#isInternalConstructor(node)) return;
    if (ts.isIdentifier(node)) this.#addSymbol(this.#checker.getSymbolAtLocation(node));
    ts.forEachChild(node, (child) => this.#addNamesIn(child));
  }

  /** The text of a file with nothing but what is reachable; undefined where nothing is. @param {ts.SourceFile | undefined} file */
  textOf(file) {
    const kept =
      file?.statements.map((statement) => this.#statementText(statement)).filter((text) => text !== '') ?? [];
    if (file === undefined || kept.every((text) => text.trim() === 'export {};')) return undefined;
    const directives = file.text.match(directivePattern) ?? [];
    return `${[...directives, ...kept.map((text) => text.replaceAll(directivePattern, '').trim())].join('\n')}\n`;
  }

  /** @param {ts.Statement} statement */
  #statementText(statement) {
    if (ts.isClassDeclaration(statement) && this.#nodes.has(statement)) return this.#classText(statement);
    if (this.#nodes.has(statement) || isModuleMark(statement) || isGlobal(statement)) return statement.getFullText();
    if (ts.isImportDeclaration(statement)) return this.#importText(statement);
    if (ts.isExportDeclaration(statement)) return this.#exportText(statement);
    return '';
  }

  /** @param {ts.ClassDeclaration} statement */
  #classText(statement) {
    const text = statement.getFullText();
    const internal = statement.members.find((member) => this.#isInternalConstructor(member));
    if (internal === undefined) return text;
    const start = statement.getFullStart();
    return text.slice(0, internal.getFullStart() - start) + text.slice(internal.end - start);
  }

  /** @param {ts.ImportDeclaration} statement */
  #importText({ importClause, moduleSpecifier }) {
    if (importClause === undefined) return '';
    const { name, namedBindings, phaseModifier } = importClause;
    const parts = name !== undefined && this.#nodes.has(importClause) ? [name.text] : [];
    if (namedBindings !== undefined && ts.isNamespaceImport(namedBindings)) {
      if (this.#nodes.has(namedBindings)) parts.push(namedBindings.getText());
    } else if (namedBindings !== undefined) {
      const names = namedBindings.elements.filter((element) => this.#nodes.has(element));
      if (names.length > 0) parts.push(`{ ${names.map((element) => element.getText()).join(', ')} }`);
    }
    const type = phaseModifier === ts.SyntaxKind.TypeKeyword ? 'type ' : '';
    return parts.length === 0 ? '' : `import ${type}${parts.join(', ')} from ${moduleSpecifier.getText()};`;
  }

  /** @param {ts.ExportDeclaration} statement */
  #exportText(statement) {
    const { exportClause, moduleSpecifier, isTypeOnly } = statement;
    if (exportClause === undefined || !ts.isNamedExports(exportClause))
      throw new Error(`${statement.getText()}: name what is exported`);
    const names = exportClause.elements.filter((element) => this.#nodes.has(element));
    if (names.length === 0) return '';
    const from = moduleSpecifier === undefined ? '' : ` from ${moduleSpecifier.getText()}`;
    return `${commentOf(statement)}export ${isTypeOnly ? 'type ' : ''}{ ${names.map((element) => element.getText()).join(', ')} }${from};`;
  }
}

const directivePattern = /^\/\/\/ <reference .*$/gm;

/** Whether a node is a member of an import or export: those are kept one by one. @param {ts.Node} node */
function isPart(node) {
  return (
    ts.isImportSpecifier(node) || ts.isImportClause(node) || ts.isNamespaceImport(node) || ts.isExportSpecifier(node)
  );
}

/** @param {ts.Declaration} declaration */
function isTypeExport(declaration) {
  return ts.isExportSpecifier(declaration) && (declaration.isTypeOnly || declaration.parent.parent.isTypeOnly);
}

/** `export {}` keeps the other declarations of a file private. @param {ts.Statement} statement */
function isModuleMark(statement) {
  return (
    ts.isExportDeclaration(statement) &&
    statement.moduleSpecifier === undefined &&
    statement.exportClause !== undefined &&
    ts.isNamedExports(statement.exportClause) &&
    statement.exportClause.elements.length === 0
  );
}

/** `declare global` @param {ts.Statement} statement */
function isGlobal(statement) {
  return ts.isModuleDeclaration(statement) && ts.isGlobalScopeAugmentation(statement);
}

/** @param {ts.Statement} statement */
function commentOf(statement) {
  const comment = statement.getFullText().slice(0, statement.getLeadingTriviaWidth()).trim();
  return comment === '' ? '' : `${comment}\n`;
}

/** @param {ts.Program} program @param {string} file */
function sourceFileOf(program, file) {
  const source = program.getSourceFile(file);
  if (source === undefined) throw new Error(`${file} is missing`);
  return source;
}

/** @param {string} folder */
function declarationFiles(folder) {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.d.ts'))
    .map((name) => path.join(folder, name));
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  pruneDeclarations(path.resolve(process.argv[2] ?? path.join(root, 'dist')));
