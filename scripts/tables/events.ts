import { readFileSync } from 'node:fs';
import ts from 'typescript';
import { eventTypes } from '../../src/events/event.js';
import { auditActions } from '../../src/unit/actions.js';
import { code, table } from './markdown.js';

export function eventTable(): string {
  const dataTypes = eventDataTypes();
  const rows = Object.entries(eventTypes).map(([type, { description }]) => {
    const data = dataTypes.get(type);
    if (data === undefined) throw new Error(`The data of ${type} are not declared as data<…>().`);
    return [code(type), description, data];
  });
  return table(['type', 'when', 'data'], rows);
}

export function actionTable(): string {
  const rows = Object.entries(auditActions).map(([action, description]) => [code(action), description]);
  return table(['action', 'what was done'], rows);
}

/** The data of each event type as they are declared: `'type': event(description, consumers, data<{ … }>())`. */
function eventDataTypes(): Map<string, string> {
  const file = new URL('../../src/events/event.ts', import.meta.url);
  const source = ts.createSourceFile('event.ts', readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);
  const found = new Map<string, string>();
  const visit = (node: ts.Node): void => {
    if (ts.isPropertyAssignment(node) && ts.isStringLiteral(node.name) && ts.isCallExpression(node.initializer)) {
      const data = node.initializer.arguments[2];
      const type = data !== undefined && ts.isCallExpression(data) ? data.typeArguments?.[0] : undefined;
      if (type !== undefined) found.set(node.name.text, describeData(type));
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function describeData(type: ts.TypeNode): string {
  if (!ts.isTypeLiteralNode(type)) return code(type.getText());
  return type.members.map((member) => code(member.getText().replace(/;$/, '').replace(/\s+/g, ' '))).join(', ');
}
