import path from 'node:path';
import {
  type Application,
  Comment,
  type Context,
  Converter,
  DeclarationReflection,
  LiteralType,
  ProjectReflection,
  ReferenceType,
  ReflectionKind,
  ReflectionType,
  UnionType,
} from 'typedoc';
import { MarkdownPageEvent } from 'typedoc-plugin-markdown';
import ts from 'typescript';
import { describeFaceMethods } from './face-methods.js';
import { inlinedTypes, modulePages, plainNames, topicOf, topics } from './topics.js';

/**
 * Arranges the reference: a page per topic of the main entry point, methods of faces written out, unions of literals
 * spelled out, and no sections that repeat the signature.
 */
export function arrangeReference(app: Application, repository: string): void {
  app.converter.on(Converter.EVENT_BEGIN, (context) => {
    for (const name of inlinedTypes) context.inlineType.add(name);
  });
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, (context) => {
    const [program] = context.programs;
    context.setActiveProgram(program);
    for (const reflection of declarations(context)) describe(context, reflection);
    describeOverloads(context);
    arrangeModules(context, path.join(repository, 'src'));
    context.setActiveProgram(undefined);
  });
  app.converter.on(Converter.EVENT_RESOLVE_END, ({ project }) => {
    for (const name of undescribedProperties(project))
      app.logger.warn(`${name} (Property) does not have any documentation`);
  });
  app.renderer.on(MarkdownPageEvent.END, (page) => {
    page.contents =
      page.model instanceof ProjectReflection ? index(page.model) : withLinks(withoutRepetition(page.contents ?? ''));
  });
}

function declarations(context: Context): DeclarationReflection[] {
  return context.project
    .getReflectionsByKind(ReflectionKind.ClassOrInterface | ReflectionKind.TypeAlias | ReflectionKind.Variable)
    .filter((reflection) => reflection instanceof DeclarationReflection);
}

function describe(context: Context, reflection: DeclarationReflection): void {
  if (reflection.kindOf(ReflectionKind.Interface)) {
    describeFaceMethods(context, reflection);
    hideInternalBases(context, reflection);
    nameBorrowedTypes(context, reflection);
  }
  if (reflection.kindOf(ReflectionKind.Class)) removeInherited(context, reflection);
  if (reflection.kindOf(ReflectionKind.TypeAlias)) {
    if (interfaceOf(reflection) !== undefined) context.project.removeReflection(reflection);
    else spellLiterals(context, reflection);
  }
  if (reflection.kindOf(ReflectionKind.Variable)) mergeToken(context, reflection);
}

/** The properties of exported interfaces and classes that have no comment and whose names do not say it all. */
function undescribedProperties(project: ProjectReflection): string[] {
  return project
    .getReflectionsByKind(ReflectionKind.Property)
    .filter((property) => property.parent?.kindOf(ReflectionKind.ClassOrInterface) === true)
    .filter((property) => !property.hasComment() && !isPlainName(property.name))
    .map((property) => property.getFullName());
}

/** Whether a name needs no comment: a usual one, the code of an error, or a member that only types use. */
function isPlainName(name: string): boolean {
  return plainNames.includes(name) || /^(?:[A-Z_]+|~\w+)$/.test(name);
}

/** Removes the bases that no entry point exports: their members are listed with the interface itself. */
function hideInternalBases(context: Context, reflection: DeclarationReflection): void {
  const known = (reflection.extendedTypes ?? []).filter(
    (base) =>
      base instanceof ReferenceType &&
      base.symbolId !== undefined &&
      context.project.getReflectionsFromSymbolId(base.symbolId).length > 0,
  );
  if (known.length > 0) reflection.extendedTypes = known;
  else delete reflection.extendedTypes;
}

/** Names the type of functions such as `sendSignal: ProcessFace['signal']` as it is declared. */
function nameBorrowedTypes(context: Context, reflection: DeclarationReflection): void {
  for (const child of reflection.children ?? []) {
    if (child.signatures === undefined && !(child.type instanceof ReflectionType)) continue;
    const declaration = context.getSymbolFromReflection(child)?.declarations?.[0];
    if (declaration === undefined || !ts.isPropertySignature(declaration)) continue;
    if (declaration.type === undefined || !ts.isIndexedAccessTypeNode(declaration.type)) continue;
    for (const signature of [...(child.signatures ?? [])]) context.project.removeReflection(signature);
    child.kind = ReflectionKind.Property;
    child.type = context.converter.convertType(context, declaration.type);
  }
}

/** Removes the members that a class has from its base, which has a section of its own. */
function removeInherited(context: Context, reflection: DeclarationReflection): void {
  for (const child of [...(reflection.children ?? [])])
    if (child.inheritedFrom !== undefined) context.project.removeReflection(child);
}

/** The interface that a token, or the type of one, shares its name with. */
function interfaceOf({ name, parent }: DeclarationReflection): DeclarationReflection | undefined {
  if (!(parent instanceof DeclarationReflection)) return undefined;
  return parent.children?.find((child) => child.name === name && child.kindOf(ReflectionKind.Interface));
}

/** Spells out an alias such as `(typeof rights)[number]` or `keyof typeof errorCodes` as the literals that it stands for. */
function spellLiterals(context: Context, reflection: DeclarationReflection): void {
  const symbol = context.getSymbolFromReflection(reflection);
  if (symbol === undefined || !['indexedAccess', 'typeOperator'].includes(reflection.type?.type ?? '')) return;
  const type = context.checker.getDeclaredTypeOfSymbol(symbol);
  const members: readonly ts.Type[] = type.isUnion() ? type.types : [];
  const literals = members.flatMap((member) => (member.isStringLiteral() ? [new LiteralType(member.value)] : []));
  if (literals.length > 0 && literals.length === members.length) reflection.type = new UnionType(literals);
}

/** Describes the token of an interface, a constant of the same name, with the interface. */
function mergeToken(context: Context, token: DeclarationReflection): void {
  const described = interfaceOf(token);
  if (described === undefined) return;
  const text = `\n\nAlso a token: \`kernel.container.get(${token.name})\` is the one in use.`;
  described.comment?.summary.push({ kind: 'text', text });
  context.project.removeReflection(token);
}

/** Says of further signatures of a function, which have no comment of their own, that the first one's applies. */
function describeOverloads(context: Context): void {
  for (const reflection of context.project.getReflectionsByKind(ReflectionKind.FunctionOrMethod)) {
    if (!(reflection instanceof DeclarationReflection)) continue;
    for (const overload of reflection.signatures?.slice(1) ?? [])
      overload.comment ??= new Comment([{ kind: 'text', text: 'As the signature above.' }]);
  }
}

/** Divides the main entry point into a module for each topic, and names the others after their subpaths. */
function arrangeModules(context: Context, sources: string): void {
  for (const entry of context.project.children ?? []) {
    const page = modulePages[entry.name];
    if (page === undefined) continue;
    entry.name = page.name;
    entry.comment = new Comment([{ kind: 'text', text: page.text }]);
  }
  const main = context.project.children?.find(({ name }) => name === 'index');
  if (main === undefined) throw new Error('The main entry point is missing.');
  const modules = new Map(topics.map((topic) => [topic.name, newModule(context, topic)]));
  for (const child of [...(main.children ?? [])]) {
    const file = context.getSymbolFromReflection(child)?.declarations?.[0]?.getSourceFile().fileName;
    const topic = topicOf(path.relative(sources, file ?? sources));
    const module = modules.get(topic);
    if (module === undefined) throw new Error(`${child.name} belongs to no topic: add one to scripts/api/topics.ts.`);
    main.removeChild(child);
    child.parent = module;
    module.addChild(child);
  }
  context.project.removeReflection(main);
}

function newModule(context: Context, topic: { readonly name: string; readonly text: string }): DeclarationReflection {
  const module = new DeclarationReflection(topic.name, ReflectionKind.Module, context.project);
  module.comment = new Comment([{ kind: 'text', text: topic.text }]);
  context.registerReflection(module, undefined);
  context.project.addChild(module);
  return module;
}

/** The page that lists the others. */
function index({ children }: ProjectReflection): string {
  const isPrinted = (page: { readonly name: string }) => children?.some(({ name }) => name === page.name) === true;
  const rows = [...topics, ...Object.values(modulePages)]
    .filter(isPrinted)
    .map(({ name, text }) => `| [${name}](${name}.md) | ${text} |`);
  return `${['# API reference', intro, ['| page | what is on it |', '| --- | --- |', ...rows].join('\n')].join('\n\n')}\n`;
}

const intro = `Everything that the package exports, from the comments of its sources: the pages below are generated. Lists of
values, such as rights, event types and error codes, are in [tables](../tables.md).

Hints of errors name pages as \`docs/…\`: the folder is in the package, as \`node_modules/procura/docs\`.`;

/** Turns the names of pages in comments, such as `docs/tables.md#states`, into links. */
function withLinks(markdown: string): string {
  return markdown.replace(
    /(?<![`/\w])docs\/(\w[\w-]*)\.md(#[\w-]+)?/g,
    (_, page: string, anchor = '') => `[${page}](../${page}.md${anchor})`,
  );
}

/** Removes tables of parameters without descriptions and return types: the signature above has both. */
function withoutRepetition(markdown: string): string {
  return markdown
    .replace(/<a id="[^"]*"><\/a> /g, '')
    .replace(/^#+ Parameters\n\n\| Parameter \| Type \|\n(?:\|.*\n)+\n?/gm, '')
    .replace(/^#+ Returns\n\n.+\n\n?/gm, '')
    .replace(/^#+ Type Parameters\n\n\| Type Parameter \|\n(?:\|.*\n)+\n?/gm, '')
    .replace(/\n{3,}/g, '\n\n')
    .replace(/\n*$/, '\n');
}
