import type { Pattern, Request, ResourceKind } from './resource.js';
import { namesProcess } from './resource-matching.js';

/** Items by their patterns: finds those that match a request in steps of its segments, however many there are. */
export class PatternIndex<Item> {
  private readonly kinds = new Map<ResourceKind, Node<Item>>();

  add(pattern: Pattern, item: Item): void {
    this.change(pattern, (items) => withItem(items, item));
  }

  remove(pattern: Pattern, item: Item): void {
    this.change(pattern, (items) => withoutItem(items, item));
  }

  /** Those whose pattern matches `request`, in no order. */
  findMatching(request: Request): Item[] {
    const found: Item[] = [];
    const root = this.kinds.get(request.kind);
    // A process's own namespace is reached only by a pattern that spells it, so by no wildcard at the first place.
    const isPrivate = namesProcess(request);
    const from = isPrivate ? root?.literals?.get('process') : root;
    if (from !== undefined) collect(from, request, isPrivate ? 1 : 0, found);
    return found;
  }

  /** Changes the items whose pattern is this one, in the place where it ends. */
  private change({ kind, segments, rest }: Pattern, update: (items: Items<Item>) => Items<Item>): void {
    let node = getOrCreate(this.kinds, kind);
    for (const segment of segments) node = childOf(node, segment);
    if (rest) node.rest = update(node.rest);
    else node.here = update(node.here);
  }
}

/** One stands by itself: most patterns are held once, and a list is two more places in memory to look at. */
type Items<Item> = Item | Item[] | undefined;

function withItem<Item>(items: Items<Item>, item: Item): Items<Item> {
  if (items === undefined) return item;
  if (!Array.isArray(items)) return [items, item];
  items.push(item);
  return items;
}

function withoutItem<Item>(items: Items<Item>, item: Item): Items<Item> {
  if (!Array.isArray(items)) return items === item ? undefined : items;
  const at = items.indexOf(item);
  if (at >= 0) items.splice(at, 1);
  return items.length > 1 ? items : items[0];
}

/** What stands behind one beginning. Parts are made when they are needed: there may be a node for every item. */
class Node<Item> {
  literals: Map<string, Node<Item>> | undefined;
  /** `*`. */
  star: Node<Item> | undefined;
  /** `*.host`, by the host. */
  suffixes: Map<string, Node<Item>> | undefined;
  /** Of patterns that end here. */
  here: Items<Item>;
  /** Of patterns that end here with `**`. */
  rest: Items<Item>;
}

function childOf<Item>(node: Node<Item>, segment: string): Node<Item> {
  if (segment === '*') {
    node.star ??= new Node();
    return node.star;
  }
  if (segment.startsWith('*.')) {
    node.suffixes ??= new Map();
    return getOrCreate(node.suffixes, segment.slice(2));
  }
  node.literals ??= new Map();
  return getOrCreate(node.literals, segment);
}

function getOrCreate<Key, Item>(nodes: Map<Key, Node<Item>>, key: Key): Node<Item> {
  const known = nodes.get(key);
  if (known !== undefined) return known;
  const made = new Node<Item>();
  nodes.set(key, made);
  return made;
}

function collect<Item>(node: Node<Item>, request: Request, at: number, found: Item[]): void {
  pushAll(node.rest, found);
  const segment = request.segments[at];
  if (segment === undefined) {
    pushAll(node.here, found);
    return;
  }
  const literal = node.literals?.get(segment);
  if (literal !== undefined) collect(literal, request, at + 1, found);
  if (node.star !== undefined) collect(node.star, request, at + 1, found);
  if (node.suffixes === undefined) return;
  for (const suffix of suffixesOf(segment)) {
    const behind = node.suffixes.get(suffix);
    if (behind !== undefined) collect(behind, request, at + 1, found);
  }
}

function pushAll<Item>(items: Items<Item>, found: Item[]): void {
  if (!Array.isArray(items)) {
    if (items !== undefined) found.push(items);
    return;
  }
  for (const item of items) found.push(item);
}

/** What can stand behind the `*.` of a pattern that includes the host: every tail of whole labels but the host itself. */
export function suffixesOf(host: string): string[] {
  const labels = host.split('.');
  return labels.slice(1).map((_, index) => labels.slice(index + 1).join('.'));
}
