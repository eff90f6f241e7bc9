import type { JsonValue } from '../base/json.js';
import { isObject } from '../capability/constraint/json-compare.js';
import type { ObjectType } from './object/object.js';
import type { StoredObject } from './object/stored-object.js';

/** What goes first into a context. */
export type ContextOrder = 'plan' | 'evidence' | 'recent' | 'errors';

const plan: readonly ObjectType[] = ['goal', 'plan', 'constraint', 'task', 'step', 'decision', 'summary'];
const evidence: readonly ObjectType[] = ['goal', 'evidence', 'observation', 'tool_result', 'test_result', 'claim'];
const errors: readonly ObjectType[] = ['goal', 'error', 'test_result', 'decision'];
const first: Record<ContextOrder, readonly ObjectType[]> = { plan, evidence, errors, recent: [] };

/** The types that an order names go first, as it names them; then the newest. The same objects give the same order. */
export function byOrder(order: ContextOrder): (a: StoredObject, b: StoredObject) => number {
  const rank = ({ type }: StoredObject) => {
    const at = first[order].indexOf(type);
    return at < 0 ? first[order].length : at;
  };
  return (a, b) => rank(a) - rank(b) || b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1);
}

/** One object as a model reads it. */
export function rendered({ id, type, version, title, name, payload }: StoredObject): string {
  const label = title ?? name;
  const heading = `## ${type}${label === undefined ? '' : ` ${oneLine(label)}`} [${id} v${version}]`;
  return `${heading}\n\n${body(payload)}\n`;
}

/** A text is shown as it is, everything else as JSON. */
function body(payload: JsonValue): string {
  if (typeof payload === 'string') return payload;
  if (isObject(payload) && typeof payload.text === 'string' && Object.keys(payload).length === 1) return payload.text;
  return JSON.stringify(payload, undefined, 2);
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').slice(0, 200);
}
