import {
  type Context,
  type DeclarationReflection,
  ParameterReflection,
  type Reflection,
  ReflectionFlag,
  ReflectionKind,
  ReflectionType,
  SignatureReflection,
  TypeParameterReflection,
} from 'typedoc';
import ts from 'typescript';

/*
 * The faces are mapped types over classes of syscalls: `memory.create(spec)` is made from `create(caller, pid, spec)` of a
 * class. TypeDoc prints such a method as `create(...args)` without its comment. Here its signatures are taken from the
 * declaration in the class instead, without the leading parameters that the face supplies.
 */

/** Replaces the signatures of the methods that `owner` has by a mapped type. */
export function describeFaceMethods(context: Context, owner: DeclarationReflection): void {
  const symbol = context.getSymbolFromReflection(owner);
  if (symbol === undefined) return;
  const face = context.checker.getDeclaredTypeOfSymbol(symbol);
  for (const method of owner.children ?? []) {
    const member = context.checker.getPropertyOfType(face, method.name);
    const declared = member === undefined ? [] : declaredSignatures(member);
    if (member === undefined || declared.length === 0) continue;
    const supplied = suppliedParameters(context.checker, member, declared);
    method.kind = ReflectionKind.Method;
    method.setFlag(ReflectionFlag.Readonly, false);
    delete method.inheritedFrom;
    if (method.type instanceof ReflectionType) context.project.removeReflection(method.type.declaration);
    delete method.type;
    delete method.comment;
    for (const signature of [...(method.signatures ?? [])]) context.project.removeReflection(signature);
    method.signatures = declared.map((declaration) => describeSignature(context, method, declaration, supplied));
  }
}

/** The signatures of a syscall in its class, without the implementation of overloads; none for members declared elsewhere. */
function declaredSignatures(member: ts.Symbol): ts.MethodDeclaration[] {
  const methods = (member.declarations ?? [])
    .filter(ts.isMethodDeclaration)
    .filter(({ parent }) => ts.isClassDeclaration(parent));
  return methods.length > 1 ? methods.filter(({ body }) => body === undefined) : methods;
}

/** The number of parameters of the declaration that the face supplies: the caller, and for some faces the process. */
function suppliedParameters(
  checker: ts.TypeChecker,
  member: ts.Symbol,
  [first, ...others]: readonly ts.MethodDeclaration[],
): number {
  const [signature] = checker.getTypeOfSymbol(member).getCallSignatures();
  if (first === undefined || signature === undefined) return 0;
  const most = Math.max(...[first, ...others].map(({ parameters }) => parameters.length));
  const given = Math.max(
    ...checker
      .getTypeOfSymbol(member)
      .getCallSignatures()
      .map((call) => parameterCount(checker, call)),
  );
  return most - given;
}

/** The number of parameters of a signature, those of a rest parameter with a tuple type counted one by one. */
function parameterCount(checker: ts.TypeChecker, signature: ts.Signature): number {
  const { parameters } = signature;
  const last = parameters.at(-1);
  if (last === undefined) return 0;
  const type = checker.getTypeOfSymbol(last);
  return checker.isTupleType(type)
    ? parameters.length - 1 + checker.getTypeArguments(type as ts.TypeReference).length
    : parameters.length;
}

function describeSignature(
  context: Context,
  method: DeclarationReflection,
  declaration: ts.MethodDeclaration,
  supplied: number,
): SignatureReflection {
  const signature = new SignatureReflection(method.name, ReflectionKind.CallSignature, method);
  const inner = contextOf(context, signature);
  context.registerReflection(signature, undefined);
  const comment = context.getSignatureComment(declaration);
  if (comment !== undefined) signature.comment = comment;
  const typeParameters = (declaration.typeParameters ?? []).map((node) =>
    describeTypeParameter(inner, signature, node),
  );
  if (typeParameters.length > 0) signature.typeParameters = typeParameters;
  signature.parameters = declaration.parameters
    .slice(supplied)
    .map((node) => describeParameter(inner, signature, node));
  signature.type = context.converter.convertType(inner, declaration.type);
  return signature;
}

function describeTypeParameter(
  context: Context,
  signature: SignatureReflection,
  node: ts.TypeParameterDeclaration,
): TypeParameterReflection {
  const parameter = new TypeParameterReflection(node.name.text, signature, undefined);
  context.registerReflection(parameter, context.checker.getSymbolAtLocation(node.name));
  if (node.constraint !== undefined)
    parameter.type = context.converter.convertType(context.withScope(parameter), node.constraint);
  if (node.default !== undefined)
    parameter.default = context.converter.convertType(context.withScope(parameter), node.default);
  return parameter;
}

function describeParameter(
  context: Context,
  signature: SignatureReflection,
  node: ts.ParameterDeclaration,
): ParameterReflection {
  const parameter = new ParameterReflection(node.name.getText(), ReflectionKind.Parameter, signature);
  context.registerReflection(parameter, context.checker.getSymbolAtLocation(node.name));
  parameter.type = context.converter.convertType(context.withScope(parameter), node.type);
  if (node.dotDotDotToken !== undefined) parameter.setFlag(ReflectionFlag.Rest);
  if (node.questionToken !== undefined || node.initializer !== undefined) parameter.setFlag(ReflectionFlag.Optional);
  return parameter;
}

/** The context with `reflection` as its scope, for a context whose scope is above it. */
function contextOf(context: Context, reflection: Reflection): Context {
  if (reflection === context.scope || reflection.parent === undefined) return context;
  return contextOf(context, reflection.parent).withScope(reflection);
}
