import { isObject, type JsonValue } from '../base/json.js';
import type { ObjectType, StoredObject } from './object/object.js';

/** The kind of objects that come first in a context. */
export type ContextOrder = 'plan' | 'evidence' | 'recent' | 'errors';

const plan: readonly ObjectType[] = ['goal', 'plan', 'constraint', 'task', 'step', 'decision', 'summary'];
const evidence: readonly ObjectType[] = ['goal', 'evidence', 'observation', 'tool_result', 'test_result', 'claim'];
const errors: readonly ObjectType[] = ['goal', 'error', 'test_result', 'decision'];
/** The types that come first in each order. */
const typesFirst: Record<ContextOrder, readonly ObjectType[]> = { plan, evidence, errors, recent: [] };

/** Sorts the types of an order first, in its sequence, then the newest first. Deterministic: ties are broken by id. */
export function compareByOrder(order: ContextOrder): (a: StoredObject, b: StoredObject) => number {
  const rank = ({ type }: StoredObject) => {
    const index = typesFirst[order].indexOf(type);
    return index < 0 ? typesFirst[order].length : index;
  };
  return (a, b) => rank(a) - rank(b) || b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1);
}

/** The lines of a context before the payload of an object. */
export function renderHeading({ id, type, version, title, name }: StoredObject): string {
  const label = title ?? name;
  return `## ${type}${label === undefined ? '' : ` ${oneLine(label)}`} [${id} v${version}]\n\n`;
}

/** What stands before every payload in a context, and what stands after it: the end of the text or another object. */
export const contextEnds = { before: ']\n\n', last: '\n', between: '\n\n' } as const;

/** A text, and the text of `{ text }`, as it is; everything else as JSON. */
export function renderPayload(payload: JsonValue): string {
  if (typeof payload === 'string') return payload;
  if (isObject(payload) && typeof payload.text === 'string' && Object.keys(payload).length === 1) return payload.text;
  return JSON.stringify(payload, undefined, 2);
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').slice(0, 200);
}
